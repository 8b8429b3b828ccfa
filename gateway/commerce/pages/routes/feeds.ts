/** Feed links: list with their use, make (the URL is shown once) and revoke. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ERRORS } from '../../../api/core/errors.ts';
import { checkFeed } from '../../../api/core/execute.ts';
import { FEED_FORMATS, FEEDS_MAX, type Feed, type FeedTerms } from '../../../api/metering/metering.ts';
import type { Snapshots } from '../../../api/snapshot/snapshot.ts';
import { PageError, parseFields, textField } from '../../../web/forms.ts';
import { formatMoment } from '../../../web/templates.ts';
import type { KeyRecord } from '../../accounts/accounts.ts';
import type { Confirmation } from '../../people/people.ts';
import { AccountError, badInput } from '../../store/store.ts';
import { type AccountContext, accountIdOf, personIdOf, withMakers } from '../context.ts';
import { confirmed, orShowAgain } from '../forms.ts';

const PATH = '/account/feeds';
const MAX_CALL_LENGTH = 4_000;

const prefilled = z.object({ call: textField(MAX_CALL_LENGTH) });
const feedForm = prefilled.extend({
  name: textField(200),
  key: textField(100),
  format: textField(20),
  cap: textField(20),
  expires: textField(10),
});
type FeedFields = z.infer<typeof feedForm>;

const newFeed = (call: string): FeedFields => ({
  call,
  name: '',
  key: '',
  cap: '1000',
  expires: '',
  format: FEED_FORMATS.find((format) => call.includes(`format=${format}`)) ?? FEED_FORMATS[0],
});

/** Fields of the form, by the names that the API has for them. */
const FIELDS: Readonly<Record<string, string>> = {
  name: 'Name',
  query: 'Call',
  format: 'Format',
  monthly_cap: 'Monthly cap',
  expires_at: 'Last day',
};

/** The call in what was pasted, a URL or a command that sends it, without `format`: that of the link is chosen apart. */
const callIn = (pasted: string): string =>
  (/\/v1\/[^\s'"]+/.exec(pasted)?.[0] ?? pasted)
    .replace(/(?<=[?&])format=[^&]*(?:&|$)/, '')
    .replace(/[?&]$/, '');

export function feedRoutes(scope: FastifyInstance, context: AccountContext, snapshots: Snapshots): void {
  const view = context.view('feeds.njk');
  const created = context.view('feed-created.njk');
  const { accounts, feeds: store, now, publicUrl } = context;

  const activeKeys = async (request: FastifyRequest): Promise<KeyRecord[]> =>
    (await accounts.keys.list(accountIdOf(request))).filter(({ state }) => state === 'active').toReversed();

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, problem }: { form: FeedFields; problem: string },
  ): Promise<FastifyReply> => {
    const [keys, stored] = await Promise.all([activeKeys(request), store.list(accountIdOf(request))]);
    const feeds = await withMakers(context.persons, stored.toReversed());
    const live = feeds.filter(({ state }) => state === 'active').length;
    return view(reply, 'Feed links', {
      feeds,
      live,
      most: FEEDS_MAX,
      formats: FEED_FORMATS,
      form,
      problem,
      keys: keys.map(({ key_id, label, last4 }) => ({ key_id, label, last4 })),
    });
  };

  /** @throws {AccountError} `bad_input` that says what is wrong */
  const termsOf = async (form: FeedFields): Promise<{ terms: FeedTerms; price: number }> => {
    const snapshot = snapshots.current();
    if (!snapshot) throw new PageError(503, 'No figures are served yet. Try again later.');
    const sent = {
      name: form.name,
      query: callIn(form.call),
      format: form.format,
      monthly_cap: form.cap,
      ...(form.expires !== '' && { expires_at: form.expires }),
    };
    const checked = await checkFeed(sent, { snapshot, publicUrl: publicUrl(), now_ms: now() });
    if (checked.kind === 'terms') return checked;
    if (checked.kind === 'error') {
      const { code, message = ERRORS[code].message } = checked.error;
      throw badInput(message);
    }
    const said = checked.detail.map(({ loc, msg }) => {
      const [, field = '', ...within] = loc.map(String);
      return `${[FIELDS[field] ?? field, ...within].join(', ')}: ${msg}.`;
    });
    throw badInput(said.join(' '));
  };

  const make = async (
    request: FastifyRequest,
    { key_id, terms }: { key_id: string; terms: FeedTerms },
  ): Promise<{ feed: Feed; secret: string }> => {
    const account_id = accountIdOf(request);
    const made = await store.create({ account_id, key_id }, terms, personIdOf(request));
    if (made.kind === 'created') return made;
    if (made.kind !== 'full')
      throw new AccountError('key_state', 'This key is no longer active. Choose another one.');
    const limit = `An account can have at most ${FEEDS_MAX} live feed links`;
    throw new AccountError('too_many_feeds', `${limit}; revoke one first.`);
  };

  scope.get('/feeds', (request, reply) => {
    const { call } = parseFields(prefilled, request.query);
    return show(request, reply, { form: newFeed(call), problem: '' });
  });

  scope.post('/feeds', async (request, reply) => {
    const form = parseFields(feedForm, request.body);
    const again = (problem: string) => show(request, reply, { form, problem });
    return orShowAgain(reply, again, async () => {
      const key = (await activeKeys(request)).find(({ key_id }) => key_id === form.key);
      if (!key) throw badInput('Choose one of your active keys.');
      const { terms, price } = await termsOf(form);
      const { key_id } = key;
      const after = { key_id, format: terms.format, monthly_cap: terms.monthly_cap };
      const { feed, secret } = await request.audited(
        { action: 'feed.create', after },
        () => make(request, { key_id, terms }),
        (made) => ({ after: { feed_id: made.feed.feed_id, ...after } }),
      );
      const url = `${publicUrl()}/feed/${secret}.${feed.format}`;
      return created(reply, 'Your feed link', { feed, url, price });
    });
  });

  confirmed(scope, context, {
    path: '/feeds/:feed_id/revoke',
    ask: async (request) => revocation(await findOwnFeed(context, request)),
    async act(request) {
      const { feed_id, state, name } = await findOwnFeed(context, request);
      const facts = { before: { feed_id, state }, after: { feed_id, state: 'revoked' } };
      await request.audited({ action: 'feed.revoke', ...facts }, () =>
        store.revoke(accountIdOf(request), feed_id),
      );
      return { path: PATH, notice: `The feed link ${name} is revoked.` };
    },
  });
}

async function findOwnFeed({ feeds }: AccountContext, request: FastifyRequest): Promise<Feed> {
  const { feed_id } = request.params as { feed_id: string };
  const feed = (await feeds.list(accountIdOf(request))).find((one) => one.feed_id === feed_id);
  if (!feed) throw new AccountError('feed_unknown', `You have no feed link with the id ${feed_id}.`);
  return feed;
}

const revocation = ({ name, query, last4, state, fetched_at_ms }: Feed): Confirmation => ({
  title: 'Revoke a feed link',
  effects: [
    state === 'active'
      ? 'Sheets and programs that fetch it get an error from their next fetch on. This cannot be undone.'
      : `This link is ${state} already.`,
  ],
  figures: [
    { label: 'Name', value: name },
    { label: 'Call', value: query },
    { label: 'Ends with', value: `…${last4}` },
    { label: 'Last fetch', value: formatMoment(fetched_at_ms) },
  ],
  button: 'Revoke link permanently',
  back: PATH,
});
