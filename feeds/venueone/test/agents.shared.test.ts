/** What wallets sign for agents, by all vectors of it. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { typedDataDigest } from "../../../engine/custody/digest/typed-data-hash.js";
import { readTypedData } from "../../../engine/custody/digest/typed-data-reader.js";
import { toHex } from "../../shared/sign/eip712.js";
import { type ApproveAgent, textToSign } from "../money/agent-act.js";

interface UserVector {
  readonly id: string;
  readonly kind: string;
  readonly action: { readonly type?: string } | null;
  readonly expected: { readonly eip712Digest?: string };
}

const path = join(dirname(fileURLToPath(import.meta.url)), "../../../../shared/vectors/venueone-signing.json");
const vectors = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as readonly UserVector[]) : [];
const approvals = vectors.filter(({ kind, action }) => kind === "user" && action?.type === "approveAgent");

describe.skipIf(vectors.length === 0)("the texts of agents (needs ../shared)", () => {
  it("have vectors", () => {
    expect(approvals.length).toBeGreaterThanOrEqual(3);
  });

  it.each(approvals.map((vector) => [vector.id, vector] as const))("have the digest of %s", (_id, vector) => {
    const { text } = textToSign({ account: "", action: vector.action as ApproveAgent });
    const read = readTypedData(new TextEncoder().encode(text));
    expect(read.ok && toHex(typedDataDigest(read.typed))).toBe(vector.expected.eip712Digest);
  });
});
