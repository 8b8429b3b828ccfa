/** Keys: list, create (the secret is shown once), rename, change where and for how much one may be used, rotate and revoke. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { HOUR_MS } from '../../../../data/schema/redis-keys.ts';
import { parseFields, textField } from '../../../web/forms.ts';
import { formatMoment } from '../../../web/templates.ts';
import { auditedRules, type KeyRecord, MAX_LABEL_LENGTH } from '../../accounts/accounts.ts';
import type { Confirmation } from '../../people/people.ts';
import { AccountError, MAX_ACTIVE_KEYS } from '../../store/store.ts';
import { type AccountContext, accountIdOf, personIdOf, recordAction, withMakers } from '../context.ts';
import { confirmed, orShowAgain } from '../forms.ts';
import {
  endOfDay,
  keyForm,
  NEW_KEY,
  parseRules,
  type RulesFields,
  rulesFields,
  rulesForm,
} from './key-form.ts';

const PATH = '/account/keys';
const keyPath = ({ key_id }: KeyRecord): string => `${PATH}/${encodeURIComponent(key_id)}`;

/** Hours that a replaced key stays valid, and how the form calls them. */
const GRACE_CHOICES = [
  { hours: 24, text: 'for a day' },
  { hours: 1, text: 'for an hour' },
  { hours: 72, text: 'for three days' },
  { hours: 168, text: 'for seven days' },
  { hours: 0, text: 'not at all: it ends now' },
] as const;

const labelForm = z.object({ label: textField(MAX_LABEL_LENGTH) });
const rotateForm = z.object({
  grace: z
    .enum(GRACE_CHOICES.map(({ hours }) => String(hours)))
    .transform((hours) => Number(hours) * HOUR_MS),
});

/** Shows a new key, and what happens to the one that it replaces. */
function createdKeyView(context: AccountContext) {
  const view = context.view('key-created.njk');
  return (
    reply: FastifyReply,
    made: { key: string; label: string; old: KeyRecord | null },
  ): Promise<FastifyReply> => {
    const { key, ...others } = made;
    return view(reply, 'Your new key', { ...others, made: withFirstCall(context, key) });
  };
}

/** A key and the command of a first call with it. */
const withFirstCall = (context: AccountContext, key: string) => ({
  key,
  curl: `curl -H 'Authorization: Bearer ${key}' ${context.publicUrl()}/v1/ping`,
});

/** The key that somebody gets with a new account, and a first call with it. */
export async function makeFirstKey(
  context: AccountContext,
  request: FastifyRequest,
  { account_id, person_id }: { account_id: string; person_id: string },
) {
  const rules = parseRules(NEW_KEY);
  const given = { label: 'First key', expires_at_ms: null, rules, by: person_id };
  const { key, key_id } = await context.accounts.keys.mint(account_id, given);
  const after = { key_id, expires_at_ms: null, ...auditedRules(rules) };
  await recordAction(context, request, { account_id, person_id, action: 'key.create', after });
  return withFirstCall(context, key);
}

async function findOwnKey(context: AccountContext, request: FastifyRequest): Promise<KeyRecord> {
  const { key_id } = request.params as { key_id: string };
  const keys = await context.accounts.keys.list(accountIdOf(request));
  const key = keys.find((candidate) => candidate.key_id === key_id);
  if (!key) throw new AccountError('key_unknown', `You have no key with the id ${key_id}.`);
  return key;
}

export function keysRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('keys.njk');
  const created = createdKeyView(context);

  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, problem } = { form: NEW_KEY, problem: '' },
  ): Promise<FastifyReply> => {
    const stored = (await context.accounts.keys.list(accountIdOf(request))).toReversed();
    const keys = await withMakers(context.persons, stored);
    const active = keys.filter(({ state }) => state === 'active').length;
    return view(reply, 'Keys', { keys, active, most: MAX_ACTIVE_KEYS, form, problem });
  };

  scope.get('/keys', (request, reply) => show(request, reply));

  scope.post('/keys', async (request, reply) => {
    const form = parseFields(keyForm, request.body);
    const again = (problem: string) => show(request, reply, { form, problem });
    return orShowAgain(reply, again, async () => {
      const expires_at_ms = endOfDay(form.expires);
      const rules = parseRules(form);
      const { label } = form;
      const by = personIdOf(request);
      const after = { expires_at_ms, ...auditedRules(rules) };
      const { key } = await request.audited(
        { action: 'key.create', after },
        () => context.accounts.keys.mint(accountIdOf(request), { label, expires_at_ms, rules, by }),
        (minted) => ({ after: { key_id: minted.key_id, ...after } }),
      );
      return created(reply, { key, label, old: null });
    });
  });
}

export function keyRoutes(scope: FastifyInstance, context: AccountContext): void {
  const view = context.view('key.njk');
  const created = createdKeyView(context);
  const { keys } = context.accounts;

  const show = async (
    reply: FastifyReply,
    found: KeyRecord,
    { form, problem }: { form: RulesFields; problem: string } = { form: rulesFields(found), problem: '' },
  ): Promise<FastifyReply> => {
    const [key = found] = await withMakers(context.persons, [found]);
    const isCurrent = key.state === 'active' && key.replaced_by === null;
    const path = keyPath(key);
    return view(reply, 'Key', { key, path, isCurrent, graceChoices: GRACE_CHOICES, form, problem });
  };

  /** Carries out a change; shows why it was refused. */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { form, work }: { form?: RulesFields; work: (key: KeyRecord) => Promise<FastifyReply> },
  ): Promise<FastifyReply> => {
    const key = await findOwnKey(context, request);
    const again = (problem: string) => show(reply, key, { form: form ?? rulesFields(key), problem });
    return orShowAgain(reply, again, () => work(key));
  };

  scope.get('/keys/:key_id', async (request, reply) => show(reply, await findOwnKey(context, request)));

  scope.post('/keys/:key_id/label', (request, reply) => {
    const { label } = parseFields(labelForm, request.body);
    const work = async ({ key_id }: KeyRecord): Promise<FastifyReply> => {
      const after = { key_id };
      await request.audited({ action: 'key.rename', after }, () => keys.rename(key_id, label));
      return reply.leadTo(`${PATH}/${key_id}`, 'The label is changed.');
    };
    return change(request, reply, { work });
  });

  scope.post('/keys/:key_id/rules', (request, reply) => {
    const form = parseFields(rulesForm, request.body);
    const work = async (key: KeyRecord): Promise<FastifyReply> => {
      const { key_id } = key;
      const rules = parseRules(form);
      const before = { key_id, ...auditedRules(key) };
      const after = { key_id, ...auditedRules(rules) };
      await request.audited({ action: 'key.rules', before, after }, () => keys.setRules(key_id, rules));
      return reply.leadTo(keyPath(key), 'The rules are changed. They hold from the next call on.');
    };
    return change(request, reply, { form, work });
  });

  scope.post('/keys/:key_id/rotate', (request, reply) => {
    const { grace: grace_ms } = parseFields(rotateForm, request.body);
    const work = async ({ key_id, label }: KeyRecord): Promise<FastifyReply> => {
      const by = personIdOf(request);
      const { key, old } = await request.audited(
        { action: 'key.rotate', before: { key_id } },
        () => keys.rotate(key_id, { grace_ms, by }),
        (made) => ({ after: { key_id: made.key_id, grace_hours: grace_ms / HOUR_MS } }),
      );
      return created(reply, { key, label, old });
    };
    return change(request, reply, { work });
  });
}

export function revokeKeyRoutes(scope: FastifyInstance, context: AccountContext): void {
  confirmed(scope, context, {
    path: '/keys/:key_id/revoke',
    ask: async (request) => revocation(await findOwnKey(context, request)),
    async act(request) {
      const { key_id, state } = await findOwnKey(context, request);
      const facts = { before: { key_id, state }, after: { key_id, state: 'revoked' } };
      await request.audited({ action: 'key.revoke', ...facts }, () =>
        context.accounts.keys.revoke(key_id, { by: personIdOf(request) }),
      );
      return { path: PATH, notice: `Key ${key_id} is revoked.` };
    },
  });
}

function revocation({ key_id, label, last4, state, last_used_at_ms }: KeyRecord): Confirmation {
  return {
    title: 'Revoke a key',
    effects: [
      state === 'active'
        ? 'Programs that use this key, and its feed links, are refused from their next request on. This cannot be undone.'
        : `This key is ${state} already.`,
    ],
    figures: [
      { label: 'Id', value: key_id },
      { label: 'Label', value: label || '–' },
      { label: 'Ends with', value: `…${last4}` },
      { label: 'Last used', value: formatMoment(last_used_at_ms) },
    ],
    button: 'Revoke key permanently',
    back: PATH,
  };
}
