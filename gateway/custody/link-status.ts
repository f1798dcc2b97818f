/** What operators see of the link: whether it is up, why it last was not, and how often each cause came. No secrets. */
import type { SignerProblem } from "../../engine/custody/provider/wallet-provider.js";
import type { Clock } from "../../engine/domain/clock.js";

export type LinkProblem =
  /** No TCP connection: refused, no route, no such name. */
  | "UNREACHABLE"
  /** Connecting or the handshake took too long. */
  | "TIMEOUT"
  /** What came was no TLS 1.3 handshake, or the peer left in it. */
  | "HANDSHAKE"
  | "NO_CERTIFICATE"
  /** The peer has another key than the pinned ones. */
  | "PIN"
  | "RESUMED"
  /** More handshakes under way than are allowed. */
  | "BUSY"
  /** The peer closed before its first frame: the likely cause is that it pins another key than this party's. */
  | "REFUSED"
  | "LOST"
  /** The peer's program speaks another version of the protocol. */
  | "VERSION"
  /** A header that is not legal. */
  | "MALFORMED"
  /** The peer does not read what it is sent. */
  | "SLOW"
  /** A newer connection of the same peer came. */
  | "REPLACED"
  /** Closed by whoever runs the sessions. */
  | "DROPPED"
  /** A fault of whoever runs the sessions. */
  | "HANDLER"
  /** This party stops. */
  | "CLOSED";

export interface LinkStatus {
  readonly connected: boolean;
  /** When this or the last connection was proven, Unix epoch in ms; null: never. */
  readonly connectedAtMs: number | null;
  readonly lastProblem: LinkProblem | null;
  readonly lastProblemAtMs: number | null;
  /** Since the start, those of strangers included. */
  readonly problems: Readonly<Partial<Record<LinkProblem, number>>>;
  /** Proven connections since the start. */
  readonly connections: number;
  readonly framesIn: number;
  readonly framesOut: number;
  /** Frames received and not yet handled. */
  readonly waitingFrames: number;
  /** Handshakes under way. */
  readonly handshakes: number;
}

/** Why no signature can be made, as far as the link knows it; null: that is for others to say. */
export function signerProblemOf({ connected, lastProblem }: LinkStatus): SignerProblem | null {
  if (connected || lastProblem === null) return null;
  if (lastProblem === "VERSION") return "VERSION";
  return lastProblem === "PIN" || lastProblem === "REFUSED" || lastProblem === "NO_CERTIFICATE" ? "PIN" : "UNREACHABLE";
}

/** The counters behind a status. */
export class LinkBook {
  readonly #clock: Clock;
  readonly #problems = new Map<LinkProblem, number>();
  #lastProblem: LinkProblem | null = null;
  #lastProblemAtMs: number | null = null;
  #connectedAtMs: number | null = null;
  #connections = 0;
  framesIn = 0;
  framesOut = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  connected(): void {
    this.#connections++;
    this.#connectedAtMs = this.#clock.wallMs();
  }

  problem(problem: LinkProblem): void {
    this.#problems.set(problem, (this.#problems.get(problem) ?? 0) + 1);
    this.#lastProblem = problem;
    this.#lastProblemAtMs = this.#clock.wallMs();
  }

  view(now: Pick<LinkStatus, "connected" | "waitingFrames" | "handshakes">): LinkStatus {
    return {
      ...now,
      connectedAtMs: this.#connectedAtMs,
      lastProblem: this.#lastProblem,
      lastProblemAtMs: this.#lastProblemAtMs,
      problems: Object.fromEntries(this.#problems),
      connections: this.#connections,
      framesIn: this.framesIn,
      framesOut: this.framesOut,
    };
  }
}
