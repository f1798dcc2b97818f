/**
 * The connection between the two parties, as whoever runs sessions sees it (docs/mpc.md, 3.1). It carries frames in
 * order or is lost; the peer behind it is the one that the pin names. Sockets, certificates and reconnection are behind
 * this port. One connection at a time: a newer one ends the former (`lost`, then `connected`).
 */
import type { Message } from "../mpc/wire/header.js";

export interface LinkListener {
  /** The peer is proven. `Hello` is the first thing to send. */
  connected(): void;
  /** Header legal for its type and addressed to this party; the body whole. Those of one wallet in order, one after the other. */
  message(message: Message): Promise<void>;
  /**
   * A frame that no legal header begins: the connection is closed by the link. The runner counts a violation of the
   * wallet that the header names, if it has one.
   */
  malformed(walletId: Uint8Array | null): void;
  lost(): void;
}

export interface PartyLink {
  /** Called once, before anything comes. */
  listen(listener: LinkListener): void;
  /** Without effect when no connection stands: `lost` was told, or is about to be. */
  send(message: Message): void;
  /** Closes the present connection, for a `Hello` that does not fit; the client tries again with its pauses. */
  drop(): void;
  close(): Promise<void>;
}
