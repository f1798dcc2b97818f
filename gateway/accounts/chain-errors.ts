/** A failed read of a client-signed venue's chain → the error of its routes, or the coverage entry of an aggregated one. */
import type { ClientSignedRoom, ClientSignedStatus } from "../../engine/client-signed-room.js";
import { ServiceError } from "../../engine/domain/errors.js";
import { scrub } from "../../engine/domain/scrub.js";
import type { Coverage } from "../../schemas/account-common.js";
import type { AccountFailure, ChainOutcome } from "./account-reads.js";
import { failedCoverage, readError, type ReadErrorCode } from "./read-errors.js";

type FailedChainRead = Extract<ChainOutcome<never>, { readonly ok: false }>;

export function chainError(room: ClientSignedRoom, read: FailedChainRead, code: ReadErrorCode): ServiceError {
  const unavailable = (details: Readonly<Record<string, unknown>>) =>
    new ServiceError("VENUE_UNAVAILABLE", { exchange: room.venue, readCode: read.code, ...details });
  switch (read.code) {
    case "PAIRS_DIFFER":
      return unavailable({ reason: read.code, pairs: room.status().differingPairs, problem: messageOf(room, read) });
    case "WRONG_CHAIN":
    // The keys of endpoints are the operator's: a caller can show none.
    case "AUTH":
    case "NEEDS_CREDENTIALS":
      return unavailable({ reason: read.code, problem: messageOf(room, read) });
    case "BEFORE_INDEX":
      return new ServiceError(code, { exchange: room.venue, readCode: read.code, reason: messageOf(room, read) });
    default:
      return readError(room.venue, { ...read, code: read.code satisfies AccountFailure }, code);
  }
}

export function chainCoverage(room: ClientSignedRoom, read: ChainOutcome<unknown>): Coverage {
  if (read.ok) return { state: "SNAPSHOT", mode: "request", asOf: read.asOfMs, source: "venue" };
  return failedCoverage("ERROR", read.code, messageOf(room, read), read.retryAfterMs);
}

function messageOf(room: ClientSignedRoom, { code, message }: FailedChainRead): string {
  return failureText(code, message, room.status().differingPairs);
}

/** For people. Pairs that differ are named. */
export function failureText(code: string, message: string, differing: ClientSignedStatus["differingPairs"]): string {
  if (code !== "PAIRS_DIFFER" || differing.length === 0) return scrub(message);
  const named = differing.map(({ index, here, chain }) => `pair ${index} is ${chain} on the chain and ${here} here`);
  return scrub(named.join(", "));
}
