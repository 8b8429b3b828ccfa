/** A minimal `Upstream` over HTTP, without retries and cache. */
import type { Upstream } from '../../../build/upstream/upstream.ts';

class HttpStatus extends Error {
  readonly status: number;

  constructor(status: number, url: string) {
    super(`HTTP ${status} of ${url}`);
    this.status = status;
  }
}

export function httpUpstream(base: string): Upstream {
  const get = async (reference: string): Promise<Response> => {
    const url = base + reference;
    const response = await fetch(url);
    if (!response.ok) throw new HttpStatus(response.status, url);
    return response;
  };
  return {
    stream: async (reference) => {
      const { body } = await get(reference);
      return body ?? (async function* () {})();
    },
    text: async (reference) => (await get(reference)).text(),
  };
}
