/**
 * The pages of the second factor, the same in every protected area: setting it up, new recovery codes, turning it off.
 * The page that asks for a code at sign-in is in `sign-in-routes.ts`.
 *
 * A secret is in the form that sets it up until a code of the app proves it; nothing else stores it before. Recovery codes
 * are shown once.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { PageError, parseFields, textField, untrimmedField } from '../../web/forms.ts';
import { qrCode } from '../../web/templates.ts';
import { createPageViews, type ProtectedArea } from './protected-area.ts';
import { SECRET_PATTERN } from './second-factor.ts';
import type { SignedInUser } from './sessions.ts';
import { tooManyAttempts } from './sign-in-routes.ts';

type SecondFactorChange = 'turned_on' | 'turned_off' | 'codes_renewed';

interface SecondFactorOptions {
  /**
   * Checks the password of the signed-in user before a second factor is set up.
   * @returns null when it is right, else the message for the form; the status of `reply` is set.
   */
  confirmPassword(request: FastifyRequest, reply: FastifyReply, password: string): Promise<string | null>;
  /** Called after a change, before its answer. */
  onChange(request: FastifyRequest, change: SecondFactorChange): Promise<void>;
}

const setUpForm = z.object({
  secret: z.string().regex(SECRET_PATTERN, 'a secret that this page made'),
  code: textField(20),
  password: untrimmedField(1_000),
});
const codeForm = z.object({ code: textField(40) });
/** Also for users who may only read, and for those who have to set it up before anything else. */
const OPEN = { config: { allowsReadOnly: true, allowsRestricted: true } };
const TITLE = 'Second factor';
const WRONG_CODE = 'This code is not right, or it was used before. Wait for the next one and try again.';

export function secondFactorRoutes(
  scope: FastifyInstance,
  area: ProtectedArea,
  options: SecondFactorOptions,
): void {
  const path = `${area.root}/second-factor`;
  const views = createPageViews(area);
  const statePage = views('second-factor.njk');
  const setUpPage = views('second-factor-set-up.njk');
  const codesPage = views('recovery-codes.njk');
  const { secondFactor } = area;

  const show = async (request: FastifyRequest, reply: FastifyReply, problem = ''): Promise<FastifyReply> =>
    statePage(reply, TITLE, { factor: await secondFactor.state(signedInUser(request).subject), problem });

  const showSetUp = (request: FastifyRequest, reply: FastifyReply, secret = '', problem = '') => {
    const names = { issuer: area.name, label: signedInUser(request).email };
    const proposal = secret === '' ? secondFactor.propose(names) : secondFactor.proposalOf(secret, names);
    return setUpPage(reply, 'Set up the second factor', { ...proposal, qr: qrCode(proposal.uri), problem });
  };

  /** Null when the code was right; the status of `reply` is set otherwise. */
  const codeProblem = async (request: FastifyRequest, reply: FastifyReply): Promise<string | null> => {
    const { code } = parseFields(codeForm, request.body);
    const check = await secondFactor.check(signedInUser(request).subject, code);
    if (check.kind === 'accepted') return null;
    if (check.kind === 'throttled') return tooManyAttempts(reply, check.wait_s);
    reply.code(422);
    return WRONG_CODE;
  };

  scope.get('/second-factor', OPEN, (request, reply) => show(request, reply));

  scope.get('/second-factor/set-up', OPEN, async (request, reply) => {
    if (await secondFactor.isOn(signedInUser(request).subject)) return reply.redirect(path, 303);
    return showSetUp(request, reply);
  });

  scope.post('/second-factor/set-up', OPEN, async (request, reply) => {
    const { secret, code, password } = parseFields(setUpForm, request.body);
    const refused = await options.confirmPassword(request, reply, password);
    if (refused !== null) return showSetUp(request, reply, secret, refused);
    const result = await secondFactor.turnOn(signedInUser(request).subject, { secret, code });
    if (result === 'already_on') throw new PageError(409, 'Your second factor is already on.');
    if (result === null) return showSetUp(request, reply.code(422), secret, WRONG_CODE);
    await options.onChange(request, 'turned_on');
    return codesPage(reply, 'Your second factor is on', { codes: result.recovery_codes });
  });

  scope.post('/second-factor/recovery-codes', OPEN, async (request, reply) => {
    const problem = await codeProblem(request, reply);
    if (problem !== null) return show(request, reply, problem);
    const codes = await secondFactor.renewRecoveryCodes(signedInUser(request).subject);
    if (codes === null) throw new PageError(409, 'Your second factor is off.');
    await options.onChange(request, 'codes_renewed');
    return codesPage(reply, 'New recovery codes', { codes });
  });

  scope.post('/second-factor/off', OPEN, async (request, reply) => {
    const problem = await codeProblem(request, reply);
    if (problem !== null) return show(request, reply, problem);
    await secondFactor.turnOff(signedInUser(request).subject);
    await options.onChange(request, 'turned_off');
    return reply.leadTo(path, 'Your second factor is off.');
  });
}

function signedInUser({ user }: FastifyRequest): SignedInUser {
  if (user === null) throw new PageError(401, 'Sign in first.');
  return user;
}
