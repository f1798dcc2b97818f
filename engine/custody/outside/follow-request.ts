/**
 * Brings one request of the outside signer to its end, or to the end of the caller's time.
 *
 * Invariants: what may have been taken is asked about before it is sent again, and it is sent again only where the signer
 * knows nothing of it, under the same id. What the signer once said that it has is never reported as not begun.
 */
import { type Clock, delay } from "../../domain/clock.js";
import type { Deadline } from "../../domain/deadline.js";
import type {
  OutsideEnd,
  OutsideProblem,
  OutsideReply,
  OutsideRequest,
  OutsideSigner,
  OutsideStanding,
} from "./outside-signer.js";

/** Of one call. */
export const CALL_MS = 3_000;
/** A call with less time than this is not begun: its outcome would be unknown for nothing. */
const CALL_MS_MIN = 50;
/** Doubled twice. */
const PAUSE_MS = 250;
/** A caller who comes back sooner than this finds nothing new. */
const RETRY_AFTER_MS = 1_000;

export type Followed =
  | { readonly kind: "ended"; readonly end: OutsideEnd }
  /** The signer has it, and has not decided. */
  | { readonly kind: "waits"; readonly retryAfterMs: number }
  /** The signer may have it. */
  | { readonly kind: "unknown"; readonly problem: OutsideProblem; readonly retryAfterMs: number }
  /** Nothing was begun; asked for again it is begun. */
  | { readonly kind: "notBegun"; readonly problem: OutsideProblem | null; readonly retryAfterMs: number }
  | { readonly kind: "rejected" };

export interface FollowPorts {
  readonly signer: OutsideSigner;
  readonly clock: Clock;
  /** Every answer, for the state of the connection. */
  heard(reply: OutsideReply): void;
}

type Open = Exclude<Followed, { readonly kind: "ended" | "rejected" }>;

/** `isNew`: its row was made durable for this call, so the signer cannot have it. */
export async function followRequest(
  ports: FollowPorts,
  request: OutsideRequest,
  isNew: boolean,
  deadline: Deadline,
): Promise<Followed> {
  let mayBegin = isNew;
  let open: Open = isNew ? notBegun(null, null) : { kind: "unknown", problem: "UNREACHABLE", retryAfterMs: 0 };
  for (let pauses = 0; ; pauses++) {
    const leftMs = deadline.leftMs();
    if (leftMs < CALL_MS_MIN) return open;
    const reply = await called(ports, request, mayBegin, Math.min(CALL_MS, leftMs));
    let retryAfterMs: number | null = null;
    switch (reply.kind) {
      case "standing": {
        const { standing } = reply;
        if (isEnd(standing)) return { kind: "ended", end: standing };
        mayBegin = false;
        retryAfterMs = reply.retryAfterMs;
        open = { kind: "waits", retryAfterMs: Math.max(retryAfterMs ?? 0, RETRY_AFTER_MS) };
        break;
      }
      case "absent":
        open = notBegun(null, null);
        // At once, the first time: what was to be learnt is known.
        if (!mayBegin && pauses === 0) {
          mayBegin = true;
          continue;
        }
        mayBegin = true;
        break;
      case "rejected":
        if (mayBegin) return reply;
        open = stillOpen(open, "CONTRACT", null);
        break;
      case "notTaken":
        retryAfterMs = reply.retryAfterMs;
        open = mayBegin ? notBegun(reply.problem, retryAfterMs) : stillOpen(open, reply.problem, retryAfterMs);
        // Waiting mends no token.
        if (reply.problem === "TOKEN") return open;
        break;
      case "unknown":
        mayBegin = false;
        retryAfterMs = reply.retryAfterMs;
        open = stillOpen(open.kind === "notBegun" ? UNSEEN : open, reply.problem, retryAfterMs);
        break;
    }
    if (!(await paused(ports, Math.max(retryAfterMs ?? 0, PAUSE_MS * 2 ** Math.min(pauses, 2)), deadline))) return open;
  }
}

/** False: no call fits behind the pause, which is not made then. */
async function paused({ clock }: FollowPorts, pauseMs: number, deadline: Deadline): Promise<boolean> {
  if (pauseMs + CALL_MS_MIN > deadline.leftMs()) return false;
  await delay(clock, pauseMs);
  return true;
}

const UNSEEN: Open = { kind: "unknown", problem: "UNREACHABLE", retryAfterMs: 0 };

function isEnd(standing: OutsideStanding): standing is OutsideEnd {
  return standing.state !== "PENDING" && standing.state !== "AWAITING_APPROVAL";
}

async function called(
  { signer, heard }: FollowPorts,
  request: OutsideRequest,
  mayBegin: boolean,
  timeoutMs: number,
): Promise<OutsideReply> {
  const reply = mayBegin ? await signer.begin(request, timeoutMs) : await signer.look(request, timeoutMs);
  heard(reply);
  return reply;
}

function notBegun(problem: OutsideProblem | null, retryAfterMs: number | null): Open {
  return { kind: "notBegun", problem, retryAfterMs: Math.max(retryAfterMs ?? 0, RETRY_AFTER_MS) };
}

/** A call that said nothing of the request changes nothing in what is known of it. */
function stillOpen(open: Open, problem: OutsideProblem | null, retryAfterMs: number | null): Open {
  const waitMs = Math.max(retryAfterMs ?? 0, RETRY_AFTER_MS);
  if (open.kind === "unknown") return { ...open, problem: problem ?? open.problem, retryAfterMs: waitMs };
  return { ...open, retryAfterMs: waitMs };
}
