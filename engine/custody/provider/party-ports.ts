/** What a host of either party is given, and what only S or only C does. */
import type { Clock } from "../../domain/clock.js";
import type { StateWrite } from "../../storage/state-store.js";
import type { RowChange, WalletView } from "../mpc/state/two-phase.js";
import type { Message } from "../mpc/wire/header.js";
import type { MessageKind } from "../mpc/wire/message-types.js";
import type { CustodyEvents } from "./custody-events.js";
import type { HeldWallet } from "./held-wallet.js";
import type { PartyIdentity } from "./hello.js";
import type { LiveSession, SessionOutcome } from "./live-session.js";
import type { PartyLink } from "./party-link.js";
import type { BackupFolder, PartyStore } from "./party-store.js";
import type { DriverHooks } from "./session-driver.js";
import type { SessionRunner } from "./session-runner.js";

export interface HostPorts<Request> {
  readonly identity: PartyIdentity;
  readonly link: PartyLink;
  readonly store: PartyStore;
  readonly backups: BackupFolder;
  readonly runner: SessionRunner<Request>;
  readonly clock: Clock;
  readonly events: CustodyEvents;
}

export interface PartyRole {
  readonly beside: DriverHooks["beside"];
  /** Rows beside the write of a rule, an operator or the peer. */
  besideChange(wallet: HeldWallet, change: RowChange): readonly StateWrite[];
  /** A message that opens a session. S gets none. */
  opening(message: Message, kind: MessageKind): Promise<void>;
  sessionEnded(wallet: HeldWallet, session: LiveSession, outcome: SessionOutcome): void;
  /** The peer has a wallet that this party has not. */
  unknown(walletId: Uint8Array, view: WalletView): void;
  /** The wallet is settled with the peer, or all are (null). */
  settled(wallet: HeldWallet | null): void;
  greeted(): void;
  /** The count of the service's store: what S says of it, or what C has. */
  counted(message: Message): Promise<void>;
  lost(): void;
}
