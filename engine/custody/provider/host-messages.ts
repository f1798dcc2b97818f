/** Messages that a host sends by itself. */
import type { Party } from "../mpc/base/parameters.js";
import { headerOf, type Message, NO_SID, type SessionNames } from "../mpc/wire/header.js";
import { type AbortBody, encodeAbort } from "../mpc/wire/link-bodies.js";
import { kindNamed } from "../mpc/wire/message-types.js";

/** An `Abort` of a session that has no object. */
export function abortMessage(self: Party, names: SessionNames, abort: AbortBody): Message {
  const body = encodeAbort(abort);
  return { header: headerOf(kindNamed("abort"), self, names, NO_SID, body.byteLength), body };
}

/** In a message that is of none. */
export const NO_WALLET = new Uint8Array(16);

export type LinkMessageName =
  | "hello"
  | "state"
  | "stateReply"
  | "count"
  | "counted"
  | "freeze"
  | "frozen"
  | "activated";

/** It belongs to no session: its ctr is 0. */
export function linkMessage(
  self: Party,
  name: LinkMessageName,
  walletId: Uint8Array,
  epoch: number,
  body: Uint8Array,
): Message {
  return { header: headerOf(kindNamed(name), self, { walletId, epoch, ctr: 0n }, NO_SID, body.byteLength), body };
}
