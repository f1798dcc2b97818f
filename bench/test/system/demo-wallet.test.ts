/** The demo as a person starts it makes a server wallet and signs with it, by the lines that it prints. */
import { recoverMessageAddress } from "viem";
import { afterAll, beforeAll, expect, it } from "vitest";
import { DemoBench } from "../support/demo-process.js";
import { found } from "../support/system.js";

/** A ceiling: a shared machine may take its cores away for a while. */
const PATIENCE_MS = 600_000;
const MESSAGE = "hello";

let bench: DemoBench;
beforeAll(() => {
  bench = new DemoBench();
}, PATIENCE_MS);
afterAll(() => bench.dispose());

type Fields = Readonly<Record<string, unknown>>;

async function post(url: string, body: Fields): Promise<Fields> {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await reply.json()) as Fields;
}

/** Once the signer is there; on a machine that stands still it is the last to come. */
const onceServed = (send: () => Promise<Fields>): Promise<Fields> =>
  found("the signer is there", async () => {
    const reply = await send();
    return reply["code"] === "SIGNER_UNAVAILABLE" ? null : reply;
  });

it("the demo's server wallet is made, is the user's only one, and signs", { timeout: PATIENCE_MS }, async () => {
  const demo = bench.start();
  await demo.shows("curl -s");
  const [, wallets = "", sign = ""] = /server wallets +(\S+) .*\S*(\/ada\/sign)/.exec(demo.output) ?? [];
  const made = await onceServed(() => post(wallets, { userId: "ada" }));
  expect(made).toMatchObject({ success: true, userId: "ada", state: "ACTIVE" });
  const { data } = (await onceServed(() => post(`${wallets}${sign}`, { message: MESSAGE }))) as {
    readonly data: Fields;
  };
  const signature = data["signature"] as `0x${string}`;
  expect(await recoverMessageAddress({ message: MESSAGE, signature })).toBe(made["address"]);
  expect(await post(wallets, { userId: "ada" })).toMatchObject({
    code: "WALLET_EXISTS",
    details: { walletId: made["walletId"] },
  });
  const ready = (await (await fetch(new URL("/ready", wallets))).json()) as { readonly parts?: readonly Fields[] };
  expect(ready.parts?.find(({ name }) => name === "cosigner")).toEqual({
    ...{ name: "cosigner", ready: true, detail: "reachable" },
  });
});
