/** The Atom feed, read by a feed reader that knows nothing of ours: Python's feedparser, installed from PyPI. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { tellStory } from './edition-story.ts';
import { useService } from './service.ts';

const run = promisify(execFile);
/** Strict about XML: `bozo` is true for a feed that is not well-formed. */
const READ = `
import sys
sys.path.insert(0, sys.argv[2])
import feedparser, json
feed = feedparser.parse(sys.argv[1])
entries = [{name: entry.get(name) for name in ('id', 'title', 'updated', 'summary', 'link')} |
           {'seconds': list(entry.updated_parsed), 'content': entry.content[0].value} for entry in feed.entries]
print(json.dumps({'bozo': bool(feed.bozo), 'version': feed.version, 'status': feed.status, 'type': feed.headers['content-type'],
                  'id': feed.feed.id, 'title': feed.feed.title, 'author': feed.feed.author,
                  'links': [[link.rel, link.href] for link in feed.feed.links], 'entries': entries}))
`;

import { useDirectory } from '../after-tests.ts';

const python = await useDirectory();
await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', python, 'feedparser==6.0.11']);
expect(existsSync(join(python, 'feedparser'))).toBe(true);
const story = await tellStory();
afterAll(() => story.world.remove());
const service = await useService({ snapshots: story.world.settings.SNAPSHOT_DIR });

test('a feed reader finds an entry for each edition, with links that work', async () => {
  const url = `${service.url}/v1/changes?format=atom`;
  const { stdout } = await run('python3', ['-c', READ, url, python]);
  const feed = JSON.parse(stdout);
  expect(feed).toMatchObject({ bozo: false, version: 'atom10', status: 200, author: 'Almanac' });
  expect(feed.type).toContain('application/atom+xml');
  expect(feed.links).toEqual([['self', url]]);
  expect(feed.entries.map(({ title }: { title: string }) => title)).toEqual(
    story.served.toReversed().map((id) => `Snapshot ${id}`),
  );
  const ids = [feed.id, ...feed.entries.map(({ id }: { id: string }) => id)];
  expect(new Set(ids).size).toBe(ids.length);
  for (const { link, seconds } of feed.entries) {
    expect((await service.get(link.slice(service.url.length))).status).toBe(200);
    expect(seconds[0]).toBe(2026);
  }
  expect(feed.entries[1].content).toContain('atlas.cows → atlas.cattle');
});
