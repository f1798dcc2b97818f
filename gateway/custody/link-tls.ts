/**
 * TLS of the link (docs/mpc.md, 3.1): version 1.3 alone, no tickets, and the judgement of the peer. OpenSSL proves that
 * the peer holds the key of its certificate; whose key that is, the pin alone says, so its own verdict on the chain is
 * not asked for (`rejectUnauthorized: false` at both ends, and `peerFault` before anything is read).
 */
import { constants } from "node:crypto";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import {
  type PartyCertificate,
  PartyCertificateError,
  type PartyFiles,
  readPartyCertificate,
} from "./party-certificate.js";
import { isPinned, pinOf } from "./pins.js";

export interface LinkIdentity {
  readonly context: SecureContext;
  /** Of the other party. */
  readonly pins: readonly Uint8Array[];
}

/** Reads the own files and wipes the key. Throws PartyCertificateError. */
export function openIdentity(own: PartyFiles, pins: readonly Uint8Array[]): LinkIdentity {
  const certificate = readPartyCertificate(own);
  try {
    return identityOf(certificate, pins);
  } finally {
    certificate.key.fill(0);
  }
}

/** Throws PartyCertificateError where the other party's pin is the own one: the two parties would share a key. */
export function identityOf(own: PartyCertificate, pins: readonly Uint8Array[]): LinkIdentity {
  if (isPinned(pins, own.pin))
    throw new PartyCertificateError("SAME_KEY", "the pin of the other party is that of this party's own key");
  const context = createSecureContext({
    cert: own.certificate,
    key: own.key,
    minVersion: "TLSv1.3",
    maxVersion: "TLSv1.3",
    // In TLS 1.3 this makes tickets names of sessions that a server keeps; ours keeps none, so none is resumed. The
    // tickets cannot be turned off themselves, therefore `peerFault` also refuses a resumed session.
    secureOptions: constants.SSL_OP_NO_TICKET,
  });
  return { context, pins };
}

/** To be asked when the handshake has ended, before a byte is read. Null: the peer holds a pinned key. */
export function peerFault(
  socket: Pick<TLSSocket, "getProtocol" | "isSessionReused" | "getPeerX509Certificate">,
  pins: readonly Uint8Array[],
): "HANDSHAKE" | "RESUMED" | "NO_CERTIFICATE" | "PIN" | null {
  if (socket.getProtocol() !== "TLSv1.3") return "HANDSHAKE";
  // A ticket proves that somebody once held the key.
  if (socket.isSessionReused()) return "RESUMED";
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return "NO_CERTIFICATE";
  try {
    return isPinned(pins, pinOf(certificate.publicKey)) ? null : "PIN";
  } catch {
    // A kind of key that this program cannot write down is none that was pinned.
    return "PIN";
  }
}
