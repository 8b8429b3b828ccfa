/** A minimal `Upstream` over HTTP, without retries and cache. */
import { type Upstream, UpstreamError } from '../../../build/upstream/upstream.ts';

export function httpUpstream(base: string): Upstream {
  const get = async (reference: string): Promise<Response> => {
    const url = base + reference;
    const response = await fetch(url);
    if (!response.ok) throw new UpstreamError(`HTTP ${response.status} of ${url}`, response.status);
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
