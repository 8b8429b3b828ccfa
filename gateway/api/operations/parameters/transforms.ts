/** The parameter `transform`, its echo, and the refusal of a transform that makes no sense. */
import { z } from 'zod';
import {
  parseTransforms,
  TRANSFORM_FORMS,
  TRANSFORMS_MAX,
  type Transform,
  type UndefinedTransform,
} from '../../../../data/derived/transforms.ts';
import { type Invalid, invalid } from '../operation.ts';
import { fail, parsed } from './parameters.ts';
import { GROUP_MARK, GROUPS } from './place-names.ts';

/** How one is written, for the description of the interface. */
const ONE =
  '(change|growth)(:([1-9][0-9]?|100))?|mean:([1-9][0-9]?|100)|index:[0-9]{4}|per_head|per:[^\\s,:]{1,255}|share:@?[a-z0-9-]{1,64}';

export const transforms = () =>
  parsed((sent, ctx): Transform[] => {
    const read = parseTransforms(sent);
    if (!Array.isArray(read)) {
      const { problem: error, input, at } = read;
      return fail(ctx, { type: 'value_error', ctx: { error }, input, at });
    }
    for (const [at, transform] of read.entries()) {
      if (transform.name !== 'share' || GROUPS.has(transform.group)) continue;
      const error = `no group has the id ${transform.group}: /v1/groups lists them`;
      return fail(ctx, { type: 'value_error', ctx: { error }, input: GROUP_MARK + transform.group, at });
    }
    return read;
  })
    .describe(
      `Figures derived from the published ones, at most ${TRANSFORMS_MAX} after each other, separated by commas: ${TRANSFORM_FORMS.map((form) => `\`${form}\``).join(', ')}. One that makes no sense for a series is 422, and says which do`,
    )
    .meta({ type: 'string', pattern: `^(${ONE})(,(${ONE}))?$`, examples: ['growth:5'] });

const inputSeries = z.object({
  id: z.string(),
  name: z.string(),
  unit: z.string().nullable(),
  licence: z.string(),
  licence_url: z.string().nullable(),
  attribution: z.string(),
});

export const derivation = z
  .strictObject({
    formula: z.string().describe('v is the figure of a country and t its year'),
    unit: z.string().nullable().describe('Of the result'),
    inputs: z
      .array(inputSeries)
      .describe('Whose figures it is made of: the series, and what it is divided by'),
  })
  .describe('With `transform`: how the figures were derived');

export const transformEcho = {
  transform: z.array(z.string()).optional().describe('Each in full, in the order in which they were applied'),
};

export function transformUndefined(
  { at, transform, measure, rightFor, instead }: UndefinedTransform,
  indicator: string,
  parameter = 'transform',
): Invalid {
  const ctx = { transform, indicator, measure, right_for: rightFor, instead };
  return invalid({ type: 'transform_undefined', ctx }, ['query', parameter, at], transform);
}
