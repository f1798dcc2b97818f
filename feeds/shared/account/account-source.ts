/**
 * The venue's part of a watched account: by whose leave it is watched, its channels, and how frames and reads change what
 * is held. watched-account.ts decides when any of it may be trusted, for every venue alike.
 */
import type { VenuePosition } from "../../../engine/domain/position.js";
import type { FeedState } from "../../../engine/market/market.js";
import type { AccountEvent, CallOptions, Read } from "../../../engine/ports.js";
import { LoadRefused } from "../book/resync.js";
import type { ConnectionLife } from "./connection-life.js";
import type { StreamedReads } from "./streamed-reads.js";

export interface AccountChannel {
  /** As the venue's subscription names it; unique over all accounts. */
  readonly name: string;
  /** Silence after which a read of the positions tells a quiet channel from a dead one, ms; 0 where silence proves nothing. */
  readonly livenessMs: number;
}

/** `acknowledges`: the frame is the first answer to the subscription of this channel. */
export type Applied =
  | { readonly ok: true; readonly acknowledges: string | null }
  | { readonly ok: false; readonly problem: string };

/** `differences`: sizes that were not what was held. `agrees`: what is held now is what was read. */
export type Adopted = { readonly differences: number } & (
  | { readonly ok: true; readonly agrees: boolean }
  | { readonly ok: false; readonly problem: string }
);

/** Takes an answer into what is held. Called once, later than the answer came, or never. */
export type Adopt = () => Adopted;

/** By whose leave an account is watched. */
export interface AccountAccess<Owner> {
  /** False: nobody may read the account any more. */
  readonly isOpen: boolean;
  /** What the channels were asked for with ends soon. */
  readonly isEnding: boolean;
  join(owner: Owner): void;
  leave(owner: Owner): void;
  /** A trade of this owner uses the account. */
  keep(owner: Owner): void;
  /** No trade has used the account for a while. */
  forgetKept(): void;
  /** The venue did not take what it was asked with. */
  refused(): void;
}

/** Of accounts that anybody may read. */
export const PUBLIC_ACCESS: AccountAccess<unknown> = {
  isOpen: true,
  isEnding: false,
  join: () => {},
  leave: () => {},
  keep: () => {},
  forgetKept: () => {},
  refused: () => {},
};

/** The watched account, as its venue's part sees it. */
export interface AccountHost {
  readonly key: string;
  /** DOWN: disposed. Answers that come later change nothing. */
  readonly state: FeedState;
  readonly reads: StreamedReads;
  readonly life: ConnectionLife;
  readonly listeners: { readonly size: number };
  /** The options of reads of the account: who pays for them now. */
  readonly call: CallOptions;
  emit(event: AccountEvent): void;
  /** Counts and logs what does not fit. */
  noteUnreadable(problem: string): void;
}

export interface AccountSource<Owner, Frame> {
  readonly channels: readonly AccountChannel[];
  readonly access: AccountAccess<Owner>;
  /** A whole picture of the positions has come: what changes from here on has moved. */
  readonly hasPicture: boolean;
  /** A frame reported something that only a read completes. */
  readonly needsRead: boolean;
  positions(): readonly VenuePosition[];
  /** Notes in `reads` what the frame proves, and emits what changed. */
  apply(frame: Frame): Applied;
  /** Reads the whole account. Resolves to null when that failed. */
  load(call: CallOptions): Promise<Adopt | LoadRefused | null>;
  /** Reads the positions alone, which costs less. Resolves to null when that failed. */
  loadPositions(call: CallOptions): Promise<Adopt | null>;
  /** A frame was lost, or could not be read. Absent where `load` reads all that frames report. */
  noteLost?(): void;
  /** Called before the listeners. */
  noteEvent(event: AccountEvent): void;
}

/** Why a load failed: the way to the venue is shut for a stated time, or (null) anything else. The first failure counts. */
export function refusedLoad(reads: readonly Read<unknown>[]): LoadRefused | null {
  for (const read of reads) {
    if (read.ok) continue;
    const isShut = read.code === "RATE_LIMITED" || read.code === "BREAKER_OPEN";
    return isShut && read.retryAfterMs !== null ? new LoadRefused(read.retryAfterMs) : null;
  }
  return null;
}
