/**
 * Transactions and tokens that the venue's own signers made (WebAssembly and native), sent unchanged: the local venue must
 * take what is good and refuse every mutation. Account, key, nonce and clock are set to what each one says.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readTransaction } from "../wire/transaction.js";
import { startVenuethreeSim, type VenuethreeSim } from "../sim.js";
import { postForm } from "./trader.js";
import { VirtualClock } from "../../../../engine/domain/virtual-clock.js";

const file = join(
  fileURLToPath(new URL("../../../..", import.meta.url)),
  "..",
  "shared",
  "vectors",
  "venuethree-signing.json",
);

interface Vector {
  readonly id: string;
  readonly kind: string;
  readonly input: {
    readonly chainId: number;
    readonly txType: number;
    readonly txInfo: string;
    readonly token?: string;
    readonly deadline?: number;
    readonly accountIndex?: number;
    readonly apiKeyIndex?: number;
    readonly mutation?: string;
    readonly signature?: string;
  };
  readonly expected: { readonly txHash: string; readonly publicKey: string; readonly signatureValid: boolean };
}

const ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/** Refusals that say the signature was found good: what is wrong comes after it. */
const AFTER_SIGNATURE: ReadonlySet<unknown> = new Set([21504, 21149, 21602, 21605, 21706, 21710, 21711, 21714, 21739]);

describe.skipIf(!existsSync(file))("signatures of the venue's own signers (needs ../shared)", () => {
  const vectors = existsSync(file)
    ? (JSON.parse(readFileSync(file, "utf8")) as { vectors: readonly Vector[] }).vectors
    : [];
  const TYPES = [8, 9, 12, 13, 14, 15, 16, 17, 20, 28, 29, 45];

  const withVenue = async <T>(
    chainId: number,
    nowMs: number,
    account: { index: number; keyIndex: number; publicKey: string; nonce: number },
    use: (venue: VenuethreeSim) => Promise<T>,
  ): Promise<T> => {
    const clock = new VirtualClock(nowMs);
    const venue = await startVenuethreeSim({
      seed: 1,
      clock,
      chainId,
      symbols: ["BTC"],
      flow: { levelCount: 5, tradesPerSecond: 0 },
      limits: { readsPerMinute: 1_000 },
      accounts: [
        {
          accountIndex: account.index,
          l1Address: ADDRESS,
          deposit: "100",
          apiKeys: [{ apiKeyIndex: account.keyIndex, publicKey: account.publicKey, nonce: account.nonce }],
        },
      ],
    });
    try {
      return await use(venue);
    } finally {
      await venue.stop();
    }
  };

  const send = (vector: Vector, text: string): Promise<{ code: unknown; hash: unknown }> => {
    const transaction = readTransaction(vector.input.txType, text);
    const account = {
      index: Math.max(0, transaction.accountIndex),
      keyIndex: Math.min(254, transaction.apiKeyIndex),
      publicKey: vector.expected.publicKey,
      nonce: Math.max(0, transaction.nonce),
    };
    return withVenue(vector.input.chainId, Math.max(1, transaction.expiredAtMs - 60_000), account, async (venue) => {
      const { json } = await postForm(venue, "sendTx", {
        tx_type: String(vector.input.txType),
        tx_info: text,
        price_protection: "false",
      });
      return { code: json.code, hash: json.tx_hash };
    });
  };

  const good = vectors.filter(
    ({ kind, input }) =>
      kind.startsWith("tx-") &&
      TYPES.includes(input.txType) &&
      typeof input.txInfo === "string" &&
      kind !== "tx-invalid-signature",
  );
  const bad = vectors.filter(({ kind }) => kind === "tx-invalid-signature");

  it("has enough of them", () => {
    expect(good.length).toBeGreaterThan(100);
    expect(bad.length).toBeGreaterThan(40);
  });

  it.each(good.map((vector) => [vector.kind, vector.id, vector] as const))(
    "takes %s %s",
    async (_kind, _id, vector) => {
      const { code, hash } = await send(vector, vector.input.txInfo);
      if (code === 200) expect(hash).toBe(vector.expected.txHash);
      else expect(AFTER_SIGNATURE.has(code)).toBe(true);
    },
  );

  it.each(bad.map((vector) => [vector.input.mutation, vector.id, vector] as const))(
    "refuses %s %s",
    async (_mutation, _id, vector) => {
      const { input } = vector;
      const text =
        input.signature === undefined
          ? input.txInfo
          : input.txInfo.replace(/"Sig":"[^"]*"/, `"Sig":"${Buffer.from(input.signature, "hex").toString("base64")}"`);
      const { code } = await send(vector, text);
      expect(code).not.toBe(200);
      expect(AFTER_SIGNATURE.has(code)).toBe(false);
    },
  );

  it.each(vectors.filter(({ kind }) => kind === "auth-token").map((vector) => [vector.id, vector] as const))(
    "takes the token of %s",
    async (_id, { input, expected }) => {
      const { deadline = 0, accountIndex = 0, apiKeyIndex = 0, token = "" } = input;
      const account = { index: accountIndex, keyIndex: apiKeyIndex, publicKey: expected.publicKey, nonce: 1 };
      await withVenue(304, (deadline - 600) * 1000, account, async (venue) => {
        const response = await fetch(`${venue.restUrl}/api/v1/accountLimits?account_index=${accountIndex}`, {
          headers: { authorization: token },
        });
        expect(response.status).toBe(200);
      });
    },
  );
});
