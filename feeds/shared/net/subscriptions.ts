/**
 * The streams one persistent socket is to carry, with the liveness of each.
 *
 * A socket that answers pings can still have lost one stream, so silence is judged per subscription:
 * past its own limit it is probed (if it has a probe), because a quiet market is not a dead feed;
 * only a failed probe, or no probe, makes it dead.
 */

/** `quiet`: the venue's state equals ours. `dead`: the venue has what we never received. `unknown`: the probe could not decide. */
export type ProbeResult = "quiet" | "dead" | "unknown";

export interface SubscriptionSpec {
  /** What the protocol subscribes to (stream name, or the encoded subscription). Unique per socket. */
  readonly name: string;
  /** Silence tolerated, ms; 0 where silence proves nothing. */
  readonly livenessMs: number;
  /** Cheap read that tells a quiet stream from a dead one; must settle within its own timeout. */
  readonly probe: (() => Promise<ProbeResult>) | null;
}

/** Probes in a row that could not decide, after which silence counts as death. */
const MAX_UNKNOWN_PROBES = 3;

const NOT_ASKED = -1;

export type LivenessVerdict = "fine" | "probe" | "dead";

export class Subscription {
  readonly spec: SubscriptionSpec;
  /** Highest link that delivered data; links are numbered upwards. */
  seenLinkId = 0;
  /** Monotonic ns; NOT_ASKED while not asked for on the present link. */
  aliveNs = NOT_ASKED;
  /** Times in a row it was found dead. */
  deadCount = 0;
  /** A connection was replaced for its sake, and it has delivered nothing since. */
  wasReplacedFor = false;
  /** A connection was replaced because most died together, this one too, and it has delivered nothing since. */
  diedWithMost = false;
  /** Times in a row that it was asked for alone after that. */
  aloneCount = 0;
  /** Monotonic ns until which its silence is known and not looked at. */
  restsUntilNs = 0;
  isProbing = false;
  unknownCount = 0;
  /** Abnormal closes in a row soon after this name was sent. */
  suspicion = 0;
  /** Of these, closes when it had been sent alone. */
  aloneKillCount = 0;
  isQuarantined = false;
  /** Times it was given up since it last spoke. */
  givenUpCount = 0;
  /** Monotonic ns before which a given-up name is not asked for again. */
  retryAtNs = 0;

  constructor(spec: SubscriptionSpec) {
    this.spec = spec;
  }

  /** Data arrived. Called per frame: plain stores only. */
  alive(tsRecvNs: number, linkId: number): void {
    this.aliveNs = tsRecvNs;
    this.deadCount = 0;
    this.unknownCount = 0;
    this.diedWithMost = false;
    if (this.wasReplacedFor) this.revived();
    if (this.suspicion !== 0) this.cleared();
    this.givenUpCount = 0;
    if (linkId > this.seenLinkId) this.seenLinkId = linkId;
  }

  /** It delivers again after a connection was replaced for it. */
  revived(): void {
    this.wasReplacedFor = false;
    this.aloneCount = 0;
    this.restsUntilNs = 0;
  }

  /** It has been sent and nothing was killed. */
  cleared(): void {
    this.suspicion = 0;
    this.aloneKillCount = 0;
  }

  /** The request was sent: silence counts from here. */
  requested(nowNs: number): void {
    this.aliveNs = nowNs;
  }

  /** The link is gone: nothing is expected until it is asked for again. */
  unasked(): void {
    this.aliveNs = NOT_ASKED;
  }

  judge(nowNs: number): LivenessVerdict {
    const { livenessMs, probe } = this.spec;
    if (livenessMs === 0 || this.aliveNs === NOT_ASKED || this.isProbing) return "fine";
    if (nowNs - this.aliveNs <= livenessMs * 1e6 || nowNs < this.restsUntilNs) return "fine";
    return probe === null || this.unknownCount >= MAX_UNKNOWN_PROBES ? "dead" : "probe";
  }

  /** Applies a probe's answer; true when the subscription is dead. */
  probed(result: ProbeResult, nowNs: number): boolean {
    this.isProbing = false;
    if (result === "dead") return true;
    // Both other answers restart the wait; `unknown` only so often.
    this.aliveNs = nowNs;
    this.unknownCount = result === "unknown" ? this.unknownCount + 1 : 0;
    return false;
  }
}
