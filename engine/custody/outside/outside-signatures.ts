/**
 * Signatures of the outside signer. What it is asked for is durable before it is asked, and one request for a wallet, an
 * origin and a digest: the same bytes asked for again, also after a crash, continue it until the signer has ended it.
 *
 * Invariants: no second request while the signer may have the first, and none for what it has signed. No signature leaves
 * that does not recover to the wallet's key over the digest that is computed here.
 */
import { Deadline } from "../../domain/deadline.js";
import { ServiceError } from "../../domain/errors.js";
import { signingIntent } from "../provider/signing-intent.js";
import type { SigningOrigin, SigningRequest, WalletSignature } from "../provider/wallet-provider.js";
import { followRequest } from "./follow-request.js";
import { openError, refusalOf, unavailable } from "./outcomes.js";
import type { Heard, OutsideCounts, OutsidePorts } from "./outside-ports.js";
import type { OutsideOrigin } from "./outside-signer.js";
import type { OutsideRequestBook } from "./request-book.js";
import type { RequestIds } from "./request-ids.js";
import { type OutsideRequestRow, type RequestPlace, requestKey } from "./request-row.js";
import { type CheckedWallet, checkedSignature } from "./signature-check.js";

/** Of one ask; the request itself goes on at the signer. */
export const SIGN_MS = 5_000;
/** Requests that the signer has not ended. */
export const OPEN_MAX = 4_096;
export const OPEN_OF_WALLET_MAX = 64;

export interface SigningWallet extends CheckedWallet {
  readonly walletId: string;
}

export class OutsideSignatures {
  readonly #ports: OutsidePorts;
  readonly #book: OutsideRequestBook;
  readonly #ids: RequestIds;
  readonly #counts: OutsideCounts;
  readonly #heard: Heard;
  /** Who asks for the same at the same time gets the same. */
  readonly #running = new Map<string, Promise<WalletSignature>>();

  constructor(ports: OutsidePorts, book: OutsideRequestBook, ids: RequestIds, counts: OutsideCounts, heard: Heard) {
    this.#ports = ports;
    this.#book = book;
    this.#ids = ids;
    this.#counts = counts;
    this.#heard = heard;
  }

  async sign(wallet: SigningWallet, origin: SigningOrigin, payload: SigningRequest): Promise<WalletSignature> {
    if (payload.kind === "digest" && !this.#ports.takesDigests)
      throw new ServiceError("POLICY_REFUSED", { rule: "RAW_DIGEST" });
    return this.#signed(wallet, origin, payload, new Deadline(this.#ports.clock, SIGN_MS));
  }

  /** Of a wallet that was not acknowledged yet. */
  async test(wallet: SigningWallet, deadline: Deadline): Promise<void> {
    const bytes = Buffer.from(`Test signature of wallet ${wallet.walletId}`, "utf8");
    await this.#signed(wallet, "test", { kind: "message", bytes }, deadline);
  }

  async #signed(
    wallet: SigningWallet,
    origin: OutsideOrigin,
    payload: SigningRequest,
    deadline: Deadline,
  ): Promise<WalletSignature> {
    const { digest } = signingIntent(origin === "caller" ? "caller" : "service", payload);
    const place = { walletId: wallet.walletId, origin, digest };
    const key = requestKey(place);
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const signing = this.#ask(wallet, place, payload, deadline);
    this.#running.set(key, signing);
    try {
      return await signing;
    } finally {
      this.#running.delete(key);
    }
  }

  async #ask(
    { walletRef, publicKey }: SigningWallet,
    place: RequestPlace,
    payload: SigningRequest,
    deadline: Deadline,
  ): Promise<WalletSignature> {
    const { row, isNew } = await this.#rowOf(place);
    const { walletId, origin, digest } = place;
    const requestId = this.#ids.signature(walletId, origin, digest, row.round);
    const request = { kind: "signature", requestId, walletRef, origin, payload } as const;
    const { signer, clock, verifier, logger } = this.#ports;
    const followed = await followRequest({ signer, clock, heard: this.#heard }, request, isNew, deadline);
    this.#counts.note(followed);
    if (followed.kind === "rejected") await this.#ended(place, row, "ENDED");
    if (followed.kind !== "ended") throw openError(followed, requestId, "FAILED_TO_SIGN");
    const { end } = followed;
    if (end.state !== "DONE") {
      await this.#ended(place, row, "ENDED");
      throw refusalOf(end, "FAILED_TO_SIGN");
    }
    const signature = checkedSignature(end.signature ?? "", digest, publicKey, verifier);
    if (signature === null) {
      // The request stays: a further one would have the signer sign a second time for what it calls done.
      this.#counts.failed.cheat++;
      logger.error("outside_signer.wrong_signature", { requestId });
      throw new ServiceError("FAILED_TO_SIGN");
    }
    this.#counts.signed++;
    await this.#ended(place, row, "SIGNED");
    return { signature, digest: `0x${Buffer.from(digest).toString("hex")}` };
  }

  /** Durable when it resolves. */
  async #rowOf(place: RequestPlace): Promise<{ readonly row: OutsideRequestRow; readonly isNew: boolean }> {
    const before = await this.#book.get(place);
    this.#book.noteAsked(place, this.#ports.clock.wallMs());
    if (before !== null && before.state !== "ENDED") return { row: before, isNew: false };
    if (this.#book.openCount >= OPEN_MAX || this.#book.openCountOf(place.walletId) >= OPEN_OF_WALLET_MAX)
      throw unavailable("TOO_MANY_OPEN");
    const round = before === null ? 0 : before.round + 1;
    const row = { round, state: "OPEN", atMs: this.#ports.clock.wallMs() } as const;
    await this.#book.put(place, row);
    return { row, isNew: true };
  }

  /** Lost, it is learnt again where it is asked for again: the signer says the same. */
  async #ended(place: RequestPlace, row: OutsideRequestRow, state: "SIGNED" | "ENDED"): Promise<void> {
    if (row.state === state) return;
    try {
      await this.#book.put(place, { ...row, state, atMs: this.#ports.clock.wallMs() });
    } catch (error) {
      const errorName = error instanceof Error ? error.name : "unknown";
      this.#ports.logger.warn("outside_signer.end_not_written", { errorName });
    }
  }
}
