/**
 * Bounds the open connections of an address: those on which it has asked. Behind a proxy, whose connections many share, an
 * answer counts until it is sent.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addressUnit } from '../metering/metering.ts';

export class AddressConnections {
  readonly #max: number;
  readonly #open = new Map<string, Set<Socket | ServerResponse>>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts the connection of a request from its first to the end of the connection. @returns false where it is one too many */
  admit(address: string, response: ServerResponse): boolean {
    const { socket } = response.req;
    const connection = socket.remoteAddress === address ? socket : response;
    const unit = addressUnit(address);
    const open = this.#open.get(unit) ?? new Set();
    if (connection.destroyed || open.has(connection)) return true;
    if (open.size >= this.#max) return false;
    this.#open.set(unit, open.add(connection));
    connection.once('close', () => {
      open.delete(connection);
      if (open.size === 0) this.#open.delete(unit);
    });
    return true;
  }
}
