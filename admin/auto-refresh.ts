/**
 * Following what is under way without a script: a page that loads itself again, but only for who asked for it, since
 * a page that moves by itself is in the way of people who read slowly.
 */
import type { FastifyReply } from 'fastify';
import { z } from 'zod';

const EVERY_S = 3;

export const followField = z.enum(['', 'yes']).default('');

export interface Follow {
  /** The page loads itself again. */
  on: boolean;
  every_s: number;
  /** Link that begins it; empty when nothing is under way. */
  start: string;
  stop: string;
}

/** @param path the page without following; @param asked what its query says. */
export function follow(reply: FastifyReply, path: string, asked: '' | 'yes', isUnderWay: boolean): Follow {
  const on = asked === 'yes' && isUnderWay;
  if (on) reply.header('Refresh', EVERY_S);
  const start = isUnderWay ? `${path}${path.includes('?') ? '&' : '?'}follow=yes` : '';
  return { on, every_s: EVERY_S, start, stop: path };
}
