/** SQL statements live in `.sql` files beside the modules that run them. */
import { readdirSync, readFileSync } from 'node:fs';

const folders = new Map<string, ReadonlyMap<string, string>>();

/**
 * The statements in the folder `sql` next to a module, by name. All are read at once: a deployment never changes them under
 * a running process. @param module its `import.meta.url`
 */
export function sqlOf(module: string): (name: string) => string {
  const folder = new URL('sql/', module);
  const statements =
    folders.get(folder.href) ??
    new Map(readdirSync(folder).map((file) => [file, readFileSync(new URL(file, folder), 'utf8')]));
  folders.set(folder.href, statements);
  return (name) => {
    const statement = statements.get(`${name}.sql`);
    if (statement === undefined) throw new RangeError(`there is no statement ${name}`);
    return statement;
  };
}

/** Reads an SQL file next to a module. @param module its `import.meta.url` */
export const readSql = (module: string, file: string): string => readFileSync(new URL(file, module), 'utf8');
