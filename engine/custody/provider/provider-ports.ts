/** What the embedded provider is given, and how it shows a wallet. */
import type { Owners } from "../../domain/owner.js";
import type { StateStore } from "../../storage/state-store.js";
import type { RandomSource } from "../mpc/base/random.js";
import type { CreationWrites } from "./wallet-provider.js";
import type { HeldWallet } from "./held-wallet.js";
import type { CountedStore } from "./instance-count.js";
import type { HostPorts } from "./party-ports.js";
import type { PolicyRules } from "./session-outcomes.js";
import type { ServiceRequest } from "./session-runner.js";
import type { SignerProblem, SigningOrigin, SigningRequest, Wallet, WalletState } from "./wallet-provider.js";
import type { WalletRow } from "./wallet-rows.js";

/** What S makes of a request: the bytes that C reads, and the digest that S reads out of them itself. */
export interface ServiceIntents {
  /** Throws INVALID_PARAMETERS for what is no intent. */
  encode(origin: SigningOrigin, request: SigningRequest): { readonly intent: Uint8Array; readonly digest: Uint8Array };
}

export interface ProviderPorts extends HostPorts<ServiceRequest> {
  readonly owners: Owners;
  readonly rows: Pick<StateStore, "scan">;
  /** UUIDs of the wallets that S's folder has a backup of. */
  backedUp(): Promise<Iterable<string>>;
  readonly intents: ServiceIntents;
  readonly rules: PolicyRules;
  readonly random: RandomSource;
  readonly creationWrites: CreationWrites;
  /** The count of the service's store, which the co-signer keeps. */
  readonly instance: CountedStore;
  /** What the connection itself knows of its state while none stands. */
  linkProblem(): SignerProblem | null;
}

/** Null: an attempt that no epoch was ever active of, or whose activation is not durable yet. */
export function walletOf(row: WalletRow, held: HeldWallet | null): Wallet | null {
  const name = held?.activeName ?? null;
  if (held === null || !held.isMade || held.row === null || name === null) return null;
  const { ownerId, walletId, userId, address, createdAt } = row;
  const publicKey = `0x${Buffer.from(name.publicKey).toString("hex")}`;
  const { state, epoch } = { state: STATES[held.row.status], epoch: held.row.activeEpoch };
  return { ownerId, walletId, userId, address, publicKey, createdAt, state, epoch };
}

const STATES: Readonly<Record<"new" | "active" | "frozen" | "restored" | "refreshDue", WalletState>> = {
  new: "ACTIVE",
  active: "ACTIVE",
  frozen: "FROZEN",
  restored: "RESTORED",
  refreshDue: "REFRESH_DUE",
};
