/** LibreOffice Calc without a screen, driven by the macros of `linked-sheet.bas`. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

const MODULE = 'LinkedSheet';
const SOURCE = join(import.meta.dirname, 'linked-sheet.bas');

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Trusts all documents: only trusted ones may be allowed to update their links by a program. */
const TRUST = `<item oor:path="/org.openoffice.Office.Common/Security/Scripting"><prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>0</value></prop></item>
</oor:items>`;
/** What a new profile must hold for a module of Basic. */
const library = () => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE library:library PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "library.dtd">
<library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="${MODULE}"/></library:library>`;
const moduleOf = (source: string) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd">
<script:module xmlns:script="http://openoffice.org/2000/script" script:name="${MODULE}" script:language="StarBasic">${escapeXml(source)}</script:module>`;

/** A document with one linked sheet. */
export class LinkedSheet {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** @param directory empty, for a profile and the document */
  static async prepare(directory: string): Promise<LinkedSheet> {
    const sheet = new LinkedSheet(directory);
    // The first start fills the profile, and would replace what is there.
    await sheet.#start('--terminate_after_init');
    const basic = join(directory, 'profile/user/basic/Standard');
    await mkdir(basic, { recursive: true });
    const settings = join(directory, 'profile/user/registrymodifications.xcu');
    const items = (await readFile(settings, 'utf8')).replace('</oor:items>', TRUST);
    await writeFile(settings, items);
    await writeFile(join(basic, 'script.xlb'), library());
    await writeFile(join(basic, `${MODULE}.xba`), moduleOf(await readFile(SOURCE, 'utf8')));
    return sheet;
  }

  /** @returns rows of cells, as they were typed: formulas, not their results */
  async rows(macro: 'LinkSheet' | 'RefreshSheet', url = ''): Promise<string[][]> {
    const output = join(this.#directory, 'output.txt');
    await rm(output, { force: true });
    await this.#start(`macro:///Standard.${MODULE}.${macro}`, {
      FEED: url,
      OUTPUT: output,
      SHEET: pathToFileURL(join(this.#directory, 'sheet.ods')).href,
    });
    const lines = (await readFile(output, 'utf8')).trimEnd().split('\n');
    return lines.map((line) => line.split('\t'));
  }

  async #start(argument: string, environment: Record<string, string> = {}): Promise<void> {
    const profile = pathToFileURL(join(this.#directory, 'profile')).href;
    const options = [`-env:UserInstallation=${profile}`, '--headless', '--norestore'];
    const values = Object.entries(environment).map((pair) => pair.join('='));
    await run('env', [...values, 'soffice', ...options, argument]);
  }
}
