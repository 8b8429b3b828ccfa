/** The topics of the served edition, with their names and counts. */
import type { TopicRecord } from '../../data/schema/records.ts';
import { ROUTE_FILES } from '../../data/schema/snapshot.ts';
import type { Edition } from '../api/snapshot/editions/edition.ts';

const known = new WeakMap<Edition, Promise<readonly TopicRecord[]>>();

/** In the curated order. @throws {SnapshotUnreadable} */
export function topicsOf(edition: Edition): Promise<readonly TopicRecord[]> {
  const reading = known.get(edition) ?? readTopics(edition);
  known.set(edition, reading);
  reading.catch(() => known.delete(edition));
  return reading;
}

/** Its slug where the list lacks it. */
export const topicName = (topics: readonly TopicRecord[], slug: string): string =>
  topics.find((topic) => topic.slug === slug)?.name ?? slug;

async function readTopics({ editions }: Edition): Promise<readonly TopicRecord[]> {
  const body = await editions.servedBody(ROUTE_FILES.topics);
  return (JSON.parse(body.toString()) as { data: TopicRecord[] }).data;
}
