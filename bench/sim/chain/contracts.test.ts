/** The contracts of the local world: the venues' signatures, the refusals, and what each token does its own way. */
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  http,
  type Hex,
  keccak256,
  maxUint256,
  parseAbi,
  parseEther,
  parseUnits,
  toEventSelector,
  toFunctionSelector,
  toHex,
  type AbiEvent,
  type AbiFunction,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ContractName, CONTRACTS } from "./contracts/artifacts.js";
import { type ChainWorld, startChainWorld } from "./world.js";
import {
  DEPLOYER_KEY,
  VAULT_OPERATOR_KEY,
  BRIDGE_OPERATOR_KEY,
  WORLD,
  type WorldChainId,
  worldToken,
} from "./world-plan.js";

let world: ChainWorld;
beforeAll(async () => {
  world = await startChainWorld();
});
afterAll(() => world.stop());

const USER = privateKeyToAccount(`0x${"21".repeat(32)}`);
const OTHER: Hex = "0x00000000000000000000000000000000000000bb";
const NATIVE: Hex = "0xfdae1ba7c826abdc4c99903c8056f82a1a04a615";
/** As an old token is called: nothing comes back. */
const ERC20 = parseAbi([
  "function approve(address,uint256)",
  "function transfer(address,uint256)",
  "function allowance(address,address) view returns (uint256)",
  "function balanceOf(address) view returns (uint256)",
  "function decimals() view returns (uint8)",
]);

function clients(chainId: WorldChainId, privateKey: Hex = `0x${"21".repeat(32)}`) {
  const { rpcUrl } = world.chain(chainId);
  const nativeCurrency = { name: "Coin", symbol: "COIN", decimals: 18 };
  const chain = defineChain({ id: chainId, name: "local", nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  const options = { chain, transport: http(rpcUrl, { retryCount: 0 }), pollingInterval: 10 };
  const account = privateKeyToAccount(privateKey);
  const reader = createPublicClient(options);
  const writer = createWalletClient({ ...options, account });
  /** Simulated first, so that a refusal shows its reason. */
  const write = async (
    address: Hex,
    abi: (typeof CONTRACTS)["Vault"]["abi"],
    functionName: string,
    args: unknown[],
    value?: bigint,
  ) => {
    const call = { address, abi, functionName, args, account, ...(value === undefined ? {} : { value }) };
    const { request } = await reader.simulateContract(call);
    return reader.waitForTransactionReceipt({ hash: await writer.writeContract(request) });
  };
  return { reader, write };
}

const eventTopic = (contract: ContractName, name: string): Hex =>
  toEventSelector(CONTRACTS[contract].abi.find((item) => item.type === "event" && item.name === name) as AbiEvent);
const selector = (contract: ContractName, name: string): Hex =>
  toFunctionSelector(
    CONTRACTS[contract].abi.find((item) => item.type === "function" && item.name === name) as AbiFunction,
  );

describe("the contracts of the local world", () => {
  it("have the functions and events that the venues' fact sheets state", () => {
    expect(selector("Vault", "deposit")).toBe("0x0efe6a8b");
    expect(selector("Vault", "depositNative")).toBe("0x608fc37a");
    expect(eventTopic("Vault", "Deposit")).toBe("0x18081cde2fa64894914e1080b98cca17bb6d1acf633e57f6e26ebdb945ad830b");
    expect(eventTopic("Vault", "Withdraw")).toBe("0xfe7813e2866053d5c3938554e517b554fce6666a6561bed9eaa7419b29fa9b68");
    expect(eventTopic("Bridge", "RequestedWithdrawal")).toBe(
      "0xcc10abf54af5c0718b10b0156dfe1e369ce3eee72423e9e86936a0082e9c5d1b",
    );
    expect(eventTopic("Bridge", "FinalizedWithdrawal")).toBe(
      "0xe5c7fe3a4ffca1590f26d74c8ba8b0db69557f7f4607a2a43f82e93041611978",
    );
    for (const token of ["Token", "OldToken"] as const) {
      expect(selector(token, "approve")).toBe("0x095ea7b3");
      expect(selector(token, "transfer")).toBe("0xa9059cbb");
      expect(selector(token, "allowance")).toBe("0xdd62ed3e");
      expect(selector(token, "balanceOf")).toBe("0x70a08231");
    }
    expect(`0x${keccak256(toHex("NATIVE")).slice(2, 42)}`).toBe(NATIVE);
  });

  it("lie on each chain where the plan says, with the plan's decimals, and own their reserve", async () => {
    for (const chainId of [1, 56, 42161] as const) {
      const { reader } = clients(chainId);
      const { tokens, vault, bridge } = WORLD[chainId];
      for (const { address, decimals } of Object.values(tokens))
        expect(await reader.readContract({ address, abi: ERC20, functionName: "decimals" })).toBe(decimals);
      expect(await world.balance(chainId, "USDT", vault)).toBe("1000000");
      expect(await reader.readContract({ address: vault, abi: CONTRACTS.Vault.abi, functionName: "NATIVE" })).toMatch(
        new RegExp(NATIVE, "i"),
      );
      if (bridge !== null) expect(await world.balance(chainId, "USDC", bridge)).toBe("1000000");
    }
    expect(WORLD[56].tokens["USDT"]?.decimals).toBe(18);
    expect(WORLD[42161].tokens["USDC"]?.decimals).toBe(6);
    expect(WORLD[1].bridge).toBeNull();
  });

  it("take a deposit of a plain token after its approval, and tell who deposited how much for which broker", async () => {
    const { write, reader } = clients(56);
    const { vault } = WORLD[56];
    const token = worldToken(56, "USDT");
    await world.setCoins(56, USER.address, "1");
    await world.mint({ chainId: 56, token: "USDT", to: USER.address, amount: "20.5" });
    const amount = parseUnits("12.5", 18);
    await expect(write(vault, CONTRACTS.Vault.abi, "deposit", [token.address, amount, 1000n])).rejects.toThrow(
      /ERC20: insufficient allowance/,
    );
    await write(token.address, CONTRACTS.Token.abi, "approve", [vault, maxUint256]);
    const { logs, status, blockNumber } = await write(vault, CONTRACTS.Vault.abi, "deposit", [
      token.address,
      amount,
      1000n,
    ]);
    expect([status, logs.length]).toEqual(["success", 2]);
    const [event] = await reader.getContractEvents({
      address: vault,
      abi: CONTRACTS.Vault.abi,
      eventName: "Deposit",
      fromBlock: blockNumber,
    });
    expect(event).toMatchObject({
      args: { account: USER.address, currency: token.address, isNative: false, amount, broker: 1000n },
    });
    expect(await world.balance(56, "USDT", USER.address)).toBe("8");
    await expect(
      write(vault, CONTRACTS.Vault.abi, "deposit", [token.address, parseUnits("9", 18), 1n]),
    ).rejects.toThrow(/ERC20: transfer amount exceeds balance/);
  });

  it("refuse deposits of nothing and of tokens that are not listed, and take the native coin", async () => {
    const { write, reader } = clients(42161);
    const { vault } = WORLD[42161];
    await world.setCoins(42161, USER.address, "2");
    const usdt = worldToken(42161, "USDT").address;
    const usdc = worldToken(42161, "USDC").address;
    const { abi } = CONTRACTS.Vault;
    await expect(write(vault, abi, "deposit", [usdt, 0n, 1n])).rejects.toThrow(/ZeroAmount/);
    await expect(write(vault, abi, "deposit", [usdc, 5n, 1n])).rejects.toThrow(/CurrencyNotSupport/);
    await expect(write(vault, abi, "depositNative", [1n])).rejects.toThrow(/msg\.value must be greater than 0/);
    const { blockNumber } = await write(vault, abi, "depositNative", [7n], parseEther("1"));
    const [event] = await reader.getContractEvents({
      address: vault,
      abi,
      eventName: "Deposit",
      fromBlock: blockNumber,
    });
    expect(event).toMatchObject({ args: { isNative: true, amount: parseEther("1"), broker: 7n } });
  });

  it("have an old token whose allowance goes through zero, which returns nothing, and may keep a fee", async () => {
    const { write, reader } = clients(1);
    const { vault } = WORLD[1];
    const token = worldToken(1, "USDT").address;
    await world.setCoins(1, USER.address, "1");
    await world.mint({ chainId: 1, token: "USDT", to: USER.address, amount: "100" });
    const approve = (value: bigint) => write(token, CONTRACTS.OldToken.abi, "approve", [vault, value]);
    await approve(5n);
    await expect(approve(6n)).rejects.toThrow(/reverted/);
    await approve(0n);
    await approve(maxUint256);
    const data =
      `${selector("OldToken", "transfer")}${OTHER.slice(2).padStart(64, "0")}${"1".padStart(64, "0")}` as Hex;
    expect((await reader.call({ account: USER, to: token, data })).data).toBeUndefined();
    await clients(1, DEPLOYER_KEY).write(token, CONTRACTS.OldToken.abi, "setFee", [10n]);
    const { abi } = CONTRACTS.Vault;
    const { blockNumber } = await write(vault, abi, "deposit", [token, parseUnits("50", 6), 1000n]);
    await clients(1, DEPLOYER_KEY).write(token, CONTRACTS.OldToken.abi, "setFee", [0n]);
    const [event] = await reader.getContractEvents({
      address: vault,
      abi,
      eventName: "Deposit",
      fromBlock: blockNumber,
    });
    // A tenth of a percent stayed with the token's owner.
    expect(event).toMatchObject({ args: { amount: parseUnits("49.95", 6) } });
  });

  it("pay out once for each id, on the operator's word alone", async () => {
    const { vault } = WORLD[1];
    const { abi } = CONTRACTS.Vault;
    const args = [77n, OTHER, worldToken(1, "USDT").address, parseUnits("3", 6), 1n];
    await expect(clients(1).write(vault, abi, "withdraw", args)).rejects.toThrow(/only the operator pays out/);
    const operator = clients(1, VAULT_OPERATOR_KEY);
    await operator.write(vault, abi, "withdraw", args);
    await expect(operator.write(vault, abi, "withdraw", args)).rejects.toThrow(/AlreadyPaid/);
    expect(await world.balance(1, "USDT", OTHER)).toBe("3");
  });

  it("pay out of the bridge once for each request", async () => {
    const bridge = WORLD[42161].bridge ?? OTHER;
    const { abi } = CONTRACTS.Bridge;
    const { write, reader } = clients(42161, BRIDGE_OPERATOR_KEY);
    const request = { user: USER.address, destination: OTHER, usd: parseUnits("4", 6), nonce: 1_700_000_000_000n };
    const message = (await reader.readContract({
      ...{ address: bridge, abi, functionName: "messageOf" },
      args: [request.user, request.destination, request.usd, request.nonce],
    })) as Hex;
    await expect(write(bridge, abi, "batchedFinalizeWithdrawals", [[message]])).rejects.toThrow(/NotRequested/);
    await write(bridge, abi, "batchedRequestWithdrawals", [[request]]);
    await expect(write(bridge, abi, "batchedRequestWithdrawals", [[request]])).rejects.toThrow(/AlreadyRequested/);
    await write(bridge, abi, "batchedFinalizeWithdrawals", [[message]]);
    await expect(write(bridge, abi, "batchedFinalizeWithdrawals", [[message]])).rejects.toThrow(/AlreadyFinalized/);
    expect(await world.balance(42161, "USDC", OTHER)).toBe("4");
  });
});

describe("the local world", () => {
  it("stands on chains that make blocks by hand too, and leaves none running where one cannot start", async () => {
    const manual = await startChainWorld({ chainIds: [56], mining: { kind: "manual" }, reserve: "5" });
    const port = Number(new URL(manual.rpcUrls[56] ?? "").port);
    try {
      expect(await manual.balance(56, "USDT", WORLD[56].vault)).toBe("5");
      await manual.mint({ chainId: 56, token: "USDT", to: OTHER, amount: "0.000000000000000001" });
      expect(await manual.balance(56, "USDT", OTHER)).toBe("0.000000000000000001");
      await expect(startChainWorld({ chainIds: [1, 56], ports: { 56: port } })).rejects.toThrow(/local chain ended/);
    } finally {
      await manual.stop();
    }
  });
});
