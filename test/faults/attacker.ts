/**
 * An attacker, run as a process: it keeps connections busy from an address of its own, and counts what comes back. It
 * leaves its core to others, so that what is measured beside it waits for the service and not for the attacker.
 */
import { connect, type Socket } from 'node:net';
import { constants, setPriority } from 'node:os';

export interface AttackJob {
  port: number;
  /** Address of the attacker. */
  from: string;
  connections: number;
  duration_ms: number;
  /** Texts, sent in turn. A connection sends its next one when the one before is answered, and is opened again when closed. */
  texts: string[];
  /** Each connection sends one text and waits. */
  isHeld?: boolean;
  /** Follows a text, again and again, until it is answered. */
  drip?: { text: string; every_ms: number };
  /** Counted in the answers. */
  counted?: string;
}

export interface AttackResult {
  /** Answers by status. */
  statuses: Record<string, number>;
  /** Connections that the service closed although their text was not answered. */
  closed: number;
  /** Connections that were open in the end although their text was not answered. */
  waiting: number;
  bytes: number;
  /** How often `counted` came, but for those cut in two by the network. */
  count: number;
}

const REOPEN_MS = 5;
const STATUS = /HTTP\/1\.1 (\d{3}) /g;
/** Bytes of a piece: less than a status line, whose rest may be in the next one. */
const TAIL = 12;

function attack(job: AttackJob): Promise<AttackResult> {
  const { port, from: localAddress, isHeld = false, drip, counted } = job;
  const texts = job.texts.map((text) => Buffer.from(text, 'latin1'));
  const result: AttackResult = { statuses: {}, closed: 0, waiting: 0, bytes: 0, count: 0 };
  /** Open connections, and whether each waits for an answer. */
  const sockets = new Map<Socket, { isWaiting: boolean }>();
  let turn = 0;
  let isOver = false;

  const open = (): void => {
    const socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true });
    const state = { isWaiting: false };
    sockets.set(socket, state);
    let tail = '';
    let dripping: NodeJS.Timeout | undefined;
    const send = (): void => {
      state.isWaiting = true;
      socket.write(texts[turn++ % texts.length] ?? '');
      if (drip) dripping = setInterval(() => socket.write(drip.text), drip.every_ms);
    };
    socket.on('connect', send);
    socket.on('data', (bytes) => {
      result.bytes += bytes.length;
      const piece = bytes.toString('latin1');
      if (counted !== undefined) result.count += piece.split(counted).length - 1;
      const text = tail + piece;
      tail = text.slice(-TAIL);
      for (const [, status = ''] of text.matchAll(STATUS)) {
        result.statuses[status] = (result.statuses[status] ?? 0) + 1;
        state.isWaiting = false;
      }
      if (state.isWaiting) return;
      clearInterval(dripping);
      if (!isHeld) send();
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('close', () => {
      clearInterval(dripping);
      sockets.delete(socket);
      if (isOver) return;
      if (state.isWaiting) result.closed += 1;
      if (!isHeld) setTimeout(open, REOPEN_MS);
    });
  };
  for (let opened = 0; opened < job.connections; opened++) open();
  return new Promise((resolve) => {
    setTimeout(() => {
      isOver = true;
      for (const [socket, { isWaiting }] of sockets) {
        if (isWaiting) result.waiting += 1;
        socket.destroy();
      }
      resolve(result);
    }, job.duration_ms);
  });
}

setPriority(constants.priority.PRIORITY_LOW);
process.on('message', async (job: AttackJob) => {
  process.send?.(await attack(job));
});
