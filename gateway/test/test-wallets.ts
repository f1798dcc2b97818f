/**
 * A wallet provider for tests of the routes: in memory, one whole throwaway key for each wallet, real signatures. It
 * stands for the two parties, which are tested in engine/custody and in whole-system tests; nothing of it is served.
 */
import { createHash } from "node:crypto";
import { getAddress, hashMessage, hashTypedData, type Hex, type TypedDataDefinition } from "viem";
import { sign as signDigest, privateKeyToAccount } from "viem/accounts";
import type {
  SigningOrigin,
  SigningRequest,
  Wallet,
  WalletPage,
  WalletProvider,
  WalletProviderStatus,
  WalletSignature,
  WalletState,
} from "../../engine/custody/provider/wallet-provider.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { WalletAct } from "../accounts/act-rows.js";

interface Held {
  readonly wallet: Wallet;
  readonly key: Hex;
}

export interface SignCall {
  readonly walletId: string;
  readonly origin: SigningOrigin;
  readonly request: SigningRequest;
}

export class TestWallets implements WalletProvider {
  readonly #held = new Map<string, Held>();
  #made = 0;
  readonly signs: SignCall[] = [];
  readonly creates: string[] = [];
  /** What the next calls reject with; null: they do what they are asked for. */
  refusal: unknown = null;
  /** The next calls wait for it; null: they answer at once. */
  gate: Promise<void> | null = null;
  problem: WalletProviderStatus["problem"] = null;
  readonly #acts: TestActs | null;

  /** `acts`: where a wallet that is made leaves its row. */
  constructor(acts: TestActs | null = null) {
    this.#acts = acts;
  }

  all(): readonly Wallet[] {
    return [...this.#held.values()].map(({ wallet }) => wallet);
  }

  async create(userId: string, ownerId: string | null, who = "local"): Promise<Wallet> {
    this.creates.push(userId);
    await this.#passed();
    const existing = this.find(userId, ownerId);
    if (existing !== null) throw new ServiceError("WALLET_EXISTS", { walletId: existing.walletId });
    const key: Hex = `0x${digestOf("key", this.#made)}`;
    const { address, publicKey } = privateKeyToAccount(key);
    const parity = Number.parseInt(publicKey.at(-1) ?? "0", 16) % 2 === 0 ? "02" : "03";
    const wallet: Wallet = {
      ownerId,
      walletId: uuidOf(this.#made++),
      userId,
      address,
      publicKey: `0x${parity}${publicKey.slice(4, 68)}`,
      createdAt: Date.now(),
      state: "ACTIVE",
      epoch: 1,
    };
    this.#held.set(wallet.walletId, { wallet, key });
    const row = { who, what: "wallet.create", subject: wallet.walletId } as const;
    this.#acts?.rows.push({ ...row, outcome: "done", details: {} });
    return wallet;
  }

  find(name: string, ownerId: string | null): Wallet | null {
    const lower = name.toLowerCase();
    for (const { wallet } of this.#held.values())
      if (wallet.ownerId === ownerId)
        if (wallet.userId === name || wallet.walletId === lower || wallet.address.toLowerCase() === lower)
          return wallet;
    return null;
  }

  list(ownerId: string | null, after: string | null, limit: number): WalletPage {
    const all = [...this.#held.values()]
      .map(({ wallet }) => wallet)
      .filter((wallet) => wallet.ownerId === ownerId && (after === null || wallet.walletId > after))
      .sort((a, b) => (a.walletId < b.walletId ? -1 : 1));
    const wallets = all.slice(0, limit);
    return { wallets, next: all.length > limit ? (wallets.at(-1)?.walletId ?? null) : null };
  }

  async sign(walletId: string, origin: SigningOrigin, request: SigningRequest): Promise<WalletSignature> {
    this.signs.push({ walletId, origin, request });
    await this.#passed();
    const held = this.#held.get(walletId);
    if (held === undefined) throw new ServiceError("WALLET_NOT_FOUND");
    if (held.wallet.state === "FROZEN") throw new ServiceError("WALLET_FROZEN");
    if (request.kind === "digest") throw new ServiceError("POLICY_REFUSED", { rule: "digest" });
    const digest = digestToSign(request);
    return { signature: await signDigest({ hash: digest, privateKey: held.key, to: "hex" }), digest };
  }

  status(): WalletProviderStatus {
    const wallets = [...this.#held.values()];
    return {
      problem: this.problem,
      wallets: wallets.length,
      frozen: wallets.filter(({ wallet }) => wallet.state === "FROZEN").length,
      lost: 0,
      sessions: {
        signed: this.signs.length,
        failed: { transport: 1, refused: 2, violation: 0, cheat: 0, fault: 0 },
        dropped: 3,
        queued: 0,
      },
    };
  }

  /** The user id is free again. */
  forget(userId: string): void {
    for (const [walletId, { wallet }] of this.#held) if (wallet.userId === userId) this.#held.delete(walletId);
  }

  setState(walletId: string, state: WalletState): void {
    const held = this.#held.get(walletId);
    if (held !== undefined) this.#held.set(walletId, { ...held, wallet: { ...held.wallet, state } });
  }

  async #passed(): Promise<void> {
    await this.gate;
    if (this.refusal !== null) throw this.refusal;
  }
}

function digestToSign(request: Exclude<SigningRequest, { kind: "digest" }>): Hex {
  if (request.kind === "message") return hashMessage({ raw: request.bytes });
  if (request.kind === "typedData") return hashTypedData(JSON.parse(request.text) as TypedDataDefinition);
  throw new Error("no route asks for a transaction");
}

function digestOf(what: string, index: number): string {
  return createHash("sha256").update(`${what} ${index}`).digest("hex");
}

/** Of no order that creation has: a list has to sort. */
function uuidOf(index: number): string {
  const hex = digestOf("wallet", index);
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
}

/** The audit log of a test: rows in memory, and a switch that makes it fail. */
export class TestActs {
  readonly rows: WalletAct[] = [];
  isBroken = false;

  readonly append = async (act: WalletAct): Promise<void> => {
    if (this.isBroken) throw new ServiceError("STORE_UNAVAILABLE", { reason: "FULL" });
    this.rows.push(act);
  };
}

export function isChecksummed(address: string): boolean {
  return getAddress(address.toLowerCase()) === address;
}
