/** What happens on which night. On all but quiet nights figures change, too. */
export type Event = 'quiet' | 'add' | 'withdraw' | 'rename' | 'fail' | 'recover' | 'rollback';
export type Events = Readonly<Record<number, Event>>;

/** Something happens on almost every night. */
export const ELEVEN_NIGHTS: Events = {
  2: 'quiet',
  3: 'add',
  4: 'fail',
  5: 'recover',
  6: 'withdraw',
  7: 'rename',
  8: 'rollback',
  9: 'rollback',
  10: 'quiet',
};

/** Upstreams change on every second night or so. */
export const THIRTY_NIGHTS: Events = {
  2: 'quiet',
  3: 'add',
  5: 'fail',
  6: 'quiet',
  7: 'recover',
  8: 'withdraw',
  9: 'quiet',
  10: 'rename',
  11: 'quiet',
  13: 'rollback',
  14: 'quiet',
  15: 'quiet',
  17: 'quiet',
  18: 'quiet',
  20: 'rollback',
  21: 'quiet',
  22: 'quiet',
  24: 'quiet',
  25: 'quiet',
  26: 'quiet',
  28: 'quiet',
  29: 'quiet',
};
