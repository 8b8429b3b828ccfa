/** One key: its facts, and forms to rename it, to change where and for how much it may be used, and to rotate it. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parseFields, textField } from '../../../web/forms.ts';
import { auditedRules, type KeyRecord, MAX_LABEL_LENGTH } from '../../accounts/accounts.ts';
import { type AccountContext, personIdOf, withMakers } from '../context.ts';
import { orShowAgain } from '../forms.ts';
import { parseRules, type RulesFields, rulesFields, rulesForm } from './key-form.ts';
import { createdKeyView, findOwnKey } from './keys.ts';

const HOUR_MS = 3_600_000;
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
      return reply.leadTo(`/account/keys/${key_id}`, 'The label is changed.');
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

const keyPath = ({ key_id }: KeyRecord): string => `/account/keys/${encodeURIComponent(key_id)}`;
