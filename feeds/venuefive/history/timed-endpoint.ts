/** Endpoints that are asked within one time: each call has what is left, and none is made when nothing is. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { CallOptions } from "../../../engine/ports.js";
import { Deadline } from "../../shared/net/deadline.js";
import { type FailedAnswer, failedAnswer, type HistoryEndpoint } from "./chain-port.js";

export const NO_TIME = failedAnswer("TIMEOUT", "no time left");

/** `index` of so many: one that hangs leaves their part to those after it. Null: nothing is left. */
export function partOf(deadline: Deadline, index: number, count: number): CallOptions | null {
  const left = deadline.left();
  return left === null ? null : { ...left, timeoutMs: Math.ceil(left.timeoutMs / (count - index)) };
}

/** All calls of it have this time together. */
export function timedEndpoint(endpoint: HistoryEndpoint, clock: Clock, options: CallOptions): HistoryEndpoint {
  const deadline = new Deadline(clock, options);
  const timed = async <T>(ask: (left: CallOptions) => Promise<T>): Promise<T | FailedAnswer> => {
    const left = deadline.left();
    return left === null ? NO_TIME : ask(left);
  };
  return {
    tip: (which) => timed((left) => endpoint.tip(which, left)),
    header: (block) => timed((left) => endpoint.header(block, left)),
    logs: (filter) => timed((left) => endpoint.logs(filter, left)),
    transaction: (hash) => timed((left) => endpoint.transaction(hash, left)),
    knows: (hash) => timed((left) => endpoint.knows(hash, left)),
    callbacks: (storage) => timed((left) => endpoint.callbacks(storage, left)),
  };
}
