/** The service that the tests of one file ask: started before the first, stopped after the last. */
import { afterAll, beforeAll } from 'vitest';
import { type Answer, type GetOptions, Service, type ServiceOptions, type TestKey } from '../service.ts';

export function testService(options: ServiceOptions = {}) {
  let started: Service;
  let key: TestKey;
  beforeAll(async () => {
    started = await Service.start(options);
    key = await started.account({ credits: 1_000_000 });
  });
  afterAll(() => started.stop());
  const get = (path: string, sent?: GetOptions): Promise<Answer> => started.get(path, sent);
  return {
    get,
    /** With a key that can pay. */
    buy: (path: string): Promise<Answer> => get(path, { key: key.key }),
    get url(): string {
      return started.url;
    },
    get snapshots() {
      return started.snapshots;
    },
  };
}
