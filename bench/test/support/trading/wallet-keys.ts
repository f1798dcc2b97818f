/** A wallet that approves keys at a local venue: signed by viem, sent by the registrar of the room under test. */
import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type {
  ActOutcome,
  AgentRegistrar,
  KeyStanding,
  VenueKey,
  WalletAct,
  WalletText,
} from "../../../../engine/key-registrar.js";
import type { VirtualClock } from "../../../../engine/domain/virtual-clock.js";
import { OPTIONS, unwrapRead } from "../trading-half.js";

/** Made for these tests, of no value. */
export const WALLET_KEY: Hex = `0x${"77".repeat(32)}`;
export const wallet = privateKeyToAccount(WALLET_KEY);
/** As keys and logs name it. */
export const WALLET = wallet.address.toLowerCase();
export const stranger = privateKeyToAccount(`0x${"78".repeat(32)}`);

type TypedData = Parameters<typeof wallet.signTypedData>[0];

export function signText({ kind, text }: WalletText, by = wallet): Promise<string> {
  return kind === "typedData" ? by.signTypedData(JSON.parse(text) as TypedData) : by.signMessage({ message: text });
}

/** An act with the signature that goes with it: what is stored before it is sent. */
export interface SignedAct extends WalletAct {
  readonly signature: string;
}

export class WalletKeys {
  readonly #registrar: AgentRegistrar;
  readonly #clock: VirtualClock;
  #secrets = 0;

  constructor(registrar: AgentRegistrar, clock: VirtualClock) {
    this.#registrar = registrar;
    this.#clock = clock;
  }

  /** `agedMs`: of its life that is over. */
  draft(name = "unwind-1", agedMs = 0): { readonly key: VenueKey; readonly secret: Uint8Array } {
    const secret = new Uint8Array(32).fill(++this.#secrets);
    const key = this.#registrar.draft({ account: WALLET, name, nowMs: this.#clock.wallMs() - agedMs }, secret);
    if (key === null) throw new Error("no draft");
    return { key, secret };
  }

  approval(key: VenueKey, by = wallet): Promise<SignedAct> {
    return signedAct(this.#registrar.approval(key), by);
  }

  revocation(key: VenueKey): Promise<SignedAct> {
    return signedAct(this.#registrar.revocation(key), wallet);
  }

  send(act: SignedAct): Promise<ActOutcome> {
    return this.#registrar.send(act, act.signature, OPTIONS);
  }

  async look(key: VenueKey, secret: Uint8Array): Promise<KeyStanding> {
    return unwrapRead(await this.#registrar.look(key, secret, OPTIONS));
  }

  /** A key that the venue has approved. */
  async approved(name = "unwind-1", agedMs = 0): Promise<{ readonly key: VenueKey; readonly secret: Uint8Array }> {
    const drafted = this.draft(name, agedMs);
    const outcome = await this.send(await this.approval(drafted.key));
    if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
    return drafted;
  }
}

async function signedAct(made: ReturnType<AgentRegistrar["approval"]>, by: typeof wallet): Promise<SignedAct> {
  const act = await made;
  if (!act.ok) throw new Error(act.problem);
  return { ...act.act, signature: await signText(act.act.toSign, by) };
}

/** Pays into an account of the local venue, which the address may not have yet. */
export async function deposit(sim: { readonly restUrl: string }, accountId: string, amount: string): Promise<void> {
  const answer = await fetch(`${sim.restUrl}/_sim/accounts`, {
    method: "POST",
    body: JSON.stringify({ accountId, deposit: amount }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}
