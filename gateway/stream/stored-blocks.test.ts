/** Which credentials a frame of the stream has that names a server wallet. */
import { describe, expect, it } from "vitest";
import { StoredSecret } from "../../engine/key-registrar.js";
import { canonicalJson } from "../../engine/portfolio/portfolio.js";
import { blocksOfFrame, type StoredWallets } from "./stored-blocks.js";

const WALLET = { walletId: "w-1", address: "0xAbc", ownerId: "ow_alice" };
const stored = { venueone: { privateKey: "stored" }, venuetwo: { apiKey: "stored" } };
const wallets: StoredWallets = (walletId, ownerId) =>
  walletId === WALLET.walletId && ownerId === WALLET.ownerId
    ? { walletId, address: WALLET.address, blocks: () => stored, listen: () => () => {} }
    : null;
const asked = { walletId: "w-1", walletAddress: "0xabc", ownerId: "ow_alice" };

function code(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

describe("the credentials of a frame", () => {
  it("are the wallet's, and what the frame carries goes first", () => {
    expect(blocksOfFrame(wallets, asked)).toEqual(stored);
    const carried = { venueone: { privateKey: "carried" } };
    expect(blocksOfFrame(wallets, asked, carried)).toEqual({ ...stored, ...carried });
    expect(blocksOfFrame(wallets, { ...asked, walletId: undefined }, carried)).toEqual(carried);
  });

  it("are refused for another owner's wallet as for one that nobody has, and where there are none", () => {
    for (const change of [{ ownerId: "ow_bob" }, { ownerId: null }, { walletId: "w-2" }])
      expect(code(() => blocksOfFrame(wallets, { ...asked, ...change }))).toBe("WALLET_NOT_FOUND");
    expect(code(() => blocksOfFrame(null, asked))).toBe("WALLET_NOT_FOUND");
  });

  it("are refused where the frame names the address of another", () => {
    expect(code(() => blocksOfFrame(wallets, { ...asked, walletAddress: "0xdef" }))).toBe("INVALID_WALLET_ID");
    expect(blocksOfFrame(wallets, { ...asked, walletAddress: null })).toEqual(stored);
  });
});

it("a block with a stored secret differs from that of another key, and shows nothing of it", () => {
  const block = (label: string) => ({ privateKey: new StoredSecret(label, () => Buffer.from("the secret itself")) });
  expect(canonicalJson(block("a"))).not.toBe(canonicalJson(block("b")));
  expect(canonicalJson(block("a"))).not.toContain("the secret");
});

it("a stored secret is wiped after its use, and says where it cannot be opened", () => {
  const opened = Buffer.from("the secret itself");
  const secret = new StoredSecret("a", () => opened);
  expect(secret.use((bytes) => bytes.length)).toBe(17);
  expect([...opened].every((byte) => byte === 0)).toBe(true);
  const fails = () =>
    new StoredSecret("a", () => opened).use(() => {
      opened.fill(1);
      throw new Error("of the user");
    });
  expect(fails).toThrow("of the user");
  expect([...opened].every((byte) => byte === 0)).toBe(true);
  expect(new StoredSecret("a", () => null).use(() => 1)).toBeNull();
});
