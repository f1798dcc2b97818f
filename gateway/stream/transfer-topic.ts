/**
 * Subscribe and resume frames of the topic `transfers` → keys: `transfers:<address>#<scope>` for one server wallet,
 * `transfers:all#<scope>` for all that the caller reaches.
 *
 * The scope is a keyed hash of the owner who asks and of the wallet. Two owners share neither frames nor rings nor resume
 * points, and a key text alone opens nothing: another owner's is answered as one that nobody has.
 */
import type { Wallet } from "../../engine/custody/provider/wallet-provider.js";
import type { Clock } from "../../engine/domain/clock.js";
import { ServiceError } from "../../engine/domain/errors.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { KeyedHash } from "../../engine/storage/keyed-hash.js";
import { subscribeTransfersSchema } from "../../schemas/stream.js";
import { compileValidator } from "../../schemas/validate.js";
import type { ExplorerUrls } from "../accounts/transfer-views.js";
import type { WalletDesk } from "../accounts/wallet-desk.js";
import { walletNameProblem } from "../accounts/wallet-names.js";
import { invalidParameters } from "../http/query.js";
import { checked } from "./checked.js";
import type { KeySpec } from "./feed.js";
import { type TransferLedger, type TransferScope, TransfersFeed } from "./transfers-feed.js";

export interface StreamTransfers {
  readonly ledger: TransferLedger;
  readonly wallets: Pick<WalletDesk, "find" | "list">;
  /** The server's own: scopes are valid nowhere else. */
  readonly hash: KeyedHash;
  readonly explorers: ExplorerUrls;
  readonly logger: Logger;
}

/** 128 bits in hex, as those of the other private keys. */
const SCOPE_CHARS = 32;
const ALL = "all";
const KEY_TEXT = /^transfers:(all|0x[0-9a-f]{40})#[0-9a-f]{32}$/;
const WALLETS_PAGE = 1_000;

export class TransferTopic {
  readonly #parts: StreamTransfers;
  readonly #clock: Clock;
  readonly #subscribe = compileValidator(subscribeTransfersSchema);

  constructor(clock: Clock, parts: StreamTransfers) {
    this.#clock = clock;
    this.#parts = parts;
  }

  isKeyText(text: string): boolean {
    return KEY_TEXT.test(text);
  }

  /** Throws INVALID_PARAMETERS, WALLET_NOT_FOUND. `ownerId`: who asks; null without a key. */
  subscribed(frame: unknown, ownerId: string | null): KeySpec {
    const { walletIdOrAddress: name } = checked(this.#subscribe, frame);
    if (name === undefined) return this.#spec(null, ownerId);
    const problem = walletNameProblem(name);
    if (problem !== null) throw invalidParameters({ path: "walletIdOrAddress", problem });
    const wallet = this.#parts.wallets.find(name, ownerId);
    if (wallet === null) throw new ServiceError("WALLET_NOT_FOUND");
    return this.#spec(wallet, ownerId);
  }

  /** Throws UNKNOWN_SUBSCRIPTION, as for a key that never was. */
  resumed(sub: string, ownerId: string | null): KeySpec {
    const [, named = ALL] = KEY_TEXT.exec(sub) ?? [];
    const wallet = named === ALL ? null : this.#parts.wallets.find(named, ownerId);
    const spec = named !== ALL && wallet === null ? null : this.#spec(wallet, ownerId);
    if (spec?.text !== sub) throw new ServiceError("UNKNOWN_SUBSCRIPTION", { sub });
    return spec;
  }

  /** `wallet` null: all of them. */
  #spec(wallet: Wallet | null, ownerId: string | null): KeySpec {
    const { hash, wallets } = this.#parts;
    const address = wallet === null ? ALL : wallet.address.toLowerCase();
    const parts = ["transfers", ownerId ?? "", address, wallet?.walletId ?? ""];
    const scope = hash.hmacHex("stream.scope", parts).slice(0, SCOPE_CHARS);
    const wish: TransferScope =
      wallet === null
        ? {
            has: (walletId) => wallets.find(walletId, ownerId) !== null,
            walletIds: () => walletIdsOf(wallets, ownerId),
          }
        : { has: (walletId) => walletId === wallet.walletId, walletIds: () => [wallet.walletId] };
    return {
      ...{ text: `transfers:${address}#${scope}`, intervalMs: 0, isPrivate: true },
      open: (mark) => new TransfersFeed({ ...this.#parts, clock: this.#clock }, wish, mark),
    };
  }
}

function* walletIdsOf(wallets: Pick<WalletDesk, "list">, ownerId: string | null): Generator<string> {
  for (let after: string | null = null; ; ) {
    const page = wallets.list(ownerId, after, WALLETS_PAGE);
    for (const { walletId } of page.wallets) yield walletId;
    after = page.next;
    if (after === null) return;
  }
}
