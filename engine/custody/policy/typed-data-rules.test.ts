/** Typed data: permits, the venues' acts, and what an operator allows by domain and type. */
import { describe, expect, it } from "vitest";
import { VENUE_DECIMALS } from "./amounts.js";
import { DEFAULT_POLICY } from "./policy.js";
import {
  CHAIN,
  type Field,
  FRIEND,
  judged,
  OTHER_TOKEN,
  PERMIT2,
  policyOf,
  RULES,
  spent,
  STRANGER,
  TOKEN,
  type TypedCase,
  typedData,
  VAULT,
  WALLET,
  ZERO,
} from "./test/policies.js";

const TOKEN_ASSET = `chain:${CHAIN}/token:${TOKEN}`;
const TOKEN_DOMAIN = { name: "Coin", version: "2", chainId: CHAIN, verifyingContract: TOKEN };
const PERMIT2_DOMAIN = { name: "Permit2", chainId: CHAIN, verifyingContract: PERMIT2 };

function with_(fields: readonly Field[], values: Readonly<Record<string, unknown>>): readonly Field[] {
  return fields.map(([type, name, value]) => [type, name, name in values ? values[name] : value] as const);
}

const ERC2612: TypedCase = {
  domain: TOKEN_DOMAIN,
  primaryType: "Permit",
  fields: [
    ["address", "owner", WALLET],
    ["address", "spender", VAULT],
    ["uint256", "value", "40"],
    ["uint256", "nonce", "0"],
    ["uint256", "deadline", "9"],
  ],
};
const ALLOWED: TypedCase = {
  domain: TOKEN_DOMAIN,
  primaryType: "Permit",
  fields: [
    ["address", "holder", WALLET],
    ["address", "spender", VAULT],
    ["uint256", "nonce", "0"],
    ["uint256", "expiry", "0"],
    ["bool", "allowed", false],
  ],
};
const AUTHORIZATION: TypedCase = {
  domain: TOKEN_DOMAIN,
  primaryType: "TransferWithAuthorization",
  fields: [
    ["address", "from", WALLET],
    ["address", "to", VAULT],
    ["uint256", "value", "40"],
    ["uint256", "validAfter", "0"],
    ["uint256", "validBefore", "9"],
    ["bytes32", "nonce", `0x${"00".repeat(32)}`],
  ],
};
const DETAILS = [
  ["address", "token"],
  ["uint160", "amount"],
  ["uint48", "expiration"],
  ["uint48", "nonce"],
] as const;
const PERMISSIONS = [
  ["address", "token"],
  ["uint256", "amount"],
] as const;
const detail = (token: string, amount: string) => ({ token, amount, expiration: 1, nonce: 0 });

function permit2(primaryType: string, fields: readonly Field[], more: TypedCase["types"] = {}): TypedCase {
  const types = primaryType.includes("TransferFrom") ? { TokenPermissions: PERMISSIONS } : { PermitDetails: DETAILS };
  return { domain: PERMIT2_DOMAIN, primaryType, fields, types: { ...types, ...more } };
}

const single = (token: string, amount: string, spender = VAULT) =>
  permit2("PermitSingle", [
    ["PermitDetails", "details", detail(token, amount)],
    ["address", "spender", spender],
    ["uint256", "sigDeadline", "1"],
  ]);
const batch = (items: readonly (readonly [string, string])[], spender = VAULT) =>
  permit2("PermitBatch", [
    ["PermitDetails[]", "details", items.map(([token, amount]) => detail(token, amount))],
    ["address", "spender", spender],
    ["uint256", "sigDeadline", "1"],
  ]);
const transferTail: readonly Field[] = [
  ["address", "spender", VAULT],
  ["uint256", "nonce", "1"],
  ["uint256", "deadline", "1"],
];
const transferFrom = (amount: string) =>
  permit2("PermitTransferFrom", [["TokenPermissions", "permitted", { token: TOKEN, amount }], ...transferTail]);
const batchTransfer = (
  amounts: readonly string[],
  primaryType = "PermitBatchTransferFrom",
  more: readonly Field[] = [],
  types = {},
) =>
  permit2(
    primaryType,
    [
      ["TokenPermissions[]", "permitted", amounts.map((amount) => ({ token: TOKEN, amount }))],
      ...transferTail,
      ...more,
    ],
    types,
  );
const witness = permit2(
  "PermitWitnessTransferFrom",
  [
    ["TokenPermissions", "permitted", { token: TOKEN, amount: "5" }],
    ...transferTail,
    ["Order", "witness", { spender: STRANGER }],
  ],
  { Order: [["address", "spender"]] },
);

describe("a permit", () => {
  const COUNTED: readonly (readonly [string, TypedCase, Record<string, bigint>])[] = [
    ["EIP-2612", ERC2612, { [TOKEN_ASSET]: 40n }],
    ["the older form, taken back", ALLOWED, { [TOKEN_ASSET]: 0n }],
    ["EIP-3009, transfer", AUTHORIZATION, { [TOKEN_ASSET]: 40n }],
    ["EIP-3009, receive", { ...AUTHORIZATION, primaryType: "ReceiveWithAuthorization" }, { [TOKEN_ASSET]: 40n }],
    [
      "EIP-3009, cancel",
      {
        domain: TOKEN_DOMAIN,
        primaryType: "CancelAuthorization",
        fields: [
          ["address", "authorizer", WALLET],
          ["bytes32", "nonce", `0x${"01".repeat(32)}`],
        ],
      },
      {},
    ],
    ["Permit2, single", single(TOKEN, "40"), { [TOKEN_ASSET]: 40n }],
    [
      "Permit2, batch",
      batch([
        [TOKEN, "30"],
        [TOKEN, "20"],
      ]),
      { [TOKEN_ASSET]: 50n },
    ],
    ["Permit2, empty batch", batch([]), {}],
    ["Permit2, transfer", transferFrom("7"), { [TOKEN_ASSET]: 7n }],
    ["Permit2, batch of transfers", batchTransfer(["7", "8"]), { [TOKEN_ASSET]: 15n }],
    ["Permit2, witness", witness, { [TOKEN_ASSET]: 5n }],
    [
      "Permit2, batch with a witness",
      batchTransfer(["7", "8"], "PermitBatchWitnessTransferFrom", [["Order", "witness", { id: 1 }]], {
        Order: [["uint256", "id"]],
      }),
      { [TOKEN_ASSET]: 15n },
    ],
  ];

  it.each(COUNTED)("of %s counts its amounts towards its spender", (_, permit, amounts) => {
    expect(spent(typedData(permit))).toEqual(amounts);
  });

  it.each(COUNTED)("of %s is refused by default, and by a rule for its domain and type", (_, permit) => {
    for (const origin of ["caller", "service"] as const)
      expect(judged(typedData({ ...permit, origin }), DEFAULT_POLICY)).toBe("PERMIT");
    const rule = { domain: { version: undefined, ...permit.domain }, primaryType: permit.primaryType };
    expect(judged(typedData(permit), policyOf({ typedData: [rule] }))).toBe("PERMIT");
  });

  it.each(COUNTED)("of %s that one origin may sign is refused to the other", (_, permit) => {
    expect(judged(typedData({ ...permit, origin: "caller" }), policyOf(RULES))).toBe("PERMIT");
  });

  const REFUSED: readonly (readonly [string, TypedCase, string])[] = [
    ["for a stranger", { ...ERC2612, fields: with_(ERC2612.fields, { spender: STRANGER }) }, "DESTINATION"],
    ["of another owner", { ...ERC2612, fields: with_(ERC2612.fields, { owner: FRIEND }) }, "ACCOUNT"],
    ["above one intent's bound", { ...ERC2612, fields: with_(ERC2612.fields, { value: "61" }) }, "AMOUNT_EACH"],
    [
      "without a bound",
      { ...ERC2612, fields: with_(ERC2612.fields, { value: String((1n << 256n) - 1n) }) },
      "AMOUNT_EACH",
    ],
    ["of the older form, given", { ...ALLOWED, fields: with_(ALLOWED.fields, { allowed: true }) }, "AMOUNT_EACH"],
    ["of another token", { ...ERC2612, domain: { ...TOKEN_DOMAIN, verifyingContract: OTHER_TOKEN } }, "PERMIT"],
    ["on another chain", { ...ERC2612, domain: { ...TOKEN_DOMAIN, chainId: 1 } }, "PERMIT"],
    ["on no chain", { ...ERC2612, domain: { name: "Coin", verifyingContract: TOKEN } }, "DOMAIN"],
    ["on chain 0", { ...ERC2612, domain: { ...TOKEN_DOMAIN, chainId: 0 } }, "DOMAIN"],
    ["of no contract", { ...ERC2612, domain: { name: "Coin", version: "2", chainId: CHAIN } }, "DOMAIN"],
    [
      "of an authorization to a stranger",
      { ...AUTHORIZATION, fields: with_(AUTHORIZATION.fields, { to: STRANGER }) },
      "DESTINATION",
    ],
    [
      "of an authorization from a stranger",
      { ...AUTHORIZATION, fields: with_(AUTHORIZATION.fields, { from: STRANGER }) },
      "ACCOUNT",
    ],
    ["of Permit2 for a stranger", single(TOKEN, "1", STRANGER), "DESTINATION"],
    ["of Permit2 for another token", single(OTHER_TOKEN, "1"), "PERMIT"],
    [
      "of Permit2 with another token behind the first",
      batch([
        [TOKEN, "1"],
        [OTHER_TOKEN, "1"],
      ]),
      "PERMIT",
    ],
    [
      "of Permit2 whose parts are small and whose sum is not",
      batch([
        [TOKEN, "60"],
        [TOKEN, "60"],
      ]),
      "AMOUNT_EACH",
    ],
    ["of Permit2 by the token's own contract", { ...single(TOKEN, "1"), domain: TOKEN_DOMAIN }, "PERMIT"],
    [
      "of a witness whose permissions are of another shape",
      {
        ...witness,
        fields: [["TokenPermissions", "permitted", { amount: "1", token: TOKEN }], ...witness.fields.slice(1)],
        types: {
          TokenPermissions: [
            ["uint256", "amount"],
            ["address", "token"],
          ],
          Order: [["address", "spender"]],
        },
      },
      "PERMIT_LIKENESS",
    ],
    [
      "of a witness whose permissions are hidden behind a like name",
      {
        ...witness,
        fields: [
          ["TokenPermissions", "permitted", { token: TOKEN }],
          ...transferTail,
          ["ATokenPermissions", "witness", { token: TOKEN, amount: "1" }],
        ],
        types: { TokenPermissions: [["address", "token"]], ATokenPermissions: PERMISSIONS },
      },
      "PERMIT_LIKENESS",
    ],
    ["of another name", { ...ERC2612, primaryType: "Permitted" }, "PERMIT_LIKENESS"],
    ["of another case", { ...ERC2612, primaryType: "permit" }, "PERMIT_LIKENESS"],
    ["under a name that says nothing", { ...ERC2612, primaryType: "Hello" }, "PERMIT_LIKENESS"],
    ["with its fields in another order", { ...ERC2612, fields: [...ERC2612.fields].reverse() }, "PERMIT_LIKENESS"],
    ["with a field more", { ...ERC2612, fields: [...ERC2612.fields, ["bool", "x", true]] }, "PERMIT_LIKENESS"],
    [
      "with a field renamed",
      {
        ...ERC2612,
        fields: ERC2612.fields.map(
          ([type, name, value]) => [type, name === "spender" ? "Spender" : name, value] as const,
        ),
      },
      "PERMIT_LIKENESS",
    ],
    [
      "for all tokens of a collection",
      {
        domain: TOKEN_DOMAIN,
        primaryType: "PermitForAll",
        fields: [
          ["address", "owner", WALLET],
          ["address", "operator", VAULT],
          ["bool", "approved", true],
        ],
      },
      "PERMIT_LIKENESS",
    ],
    [
      "inside a list inside another struct",
      {
        domain: RULES.typedData[0]?.domain ?? {},
        primaryType: "Post",
        fields: [["Inner[][]", "parts", [[{ permit: { spender: VAULT } }]]]],
        types: { Inner: [["Grant", "permit"]], Grant: [["address", "spender"]] },
      },
      "PERMIT_LIKENESS",
    ],
  ];

  it.each(REFUSED)("%s is refused", (_, permit, rule) => {
    expect(judged(typedData(permit))).toBe(rule);
  });

  it("of a coin that has a venue's name is a permit still", () => {
    expect(spent(typedData({ ...ERC2612, domain: { ...TOKEN_DOMAIN, name: "Aster", version: "1" } }))).toEqual({
      [TOKEN_ASSET]: 40n,
    });
  });
});

const USER_DOMAIN = { name: "HyperliquidSignTransaction", version: "1", chainId: CHAIN, verifyingContract: ZERO };
const WITHDRAW: TypedCase = {
  domain: USER_DOMAIN,
  primaryType: "HyperliquidTransaction:Withdraw",
  fields: [
    ["string", "hyperliquidChain", "Mainnet"],
    ["string", "destination", WALLET],
    ["string", "amount", "25.5"],
    ["uint64", "time", 1],
  ],
};
const APPROVE_AGENT: TypedCase = {
  domain: USER_DOMAIN,
  primaryType: "HyperliquidTransaction:ApproveAgent",
  fields: [
    ["string", "hyperliquidChain", "Mainnet"],
    ["address", "agentAddress", STRANGER],
    ["string", "agentName", ""],
    ["uint64", "nonce", 1],
  ],
};
const ACTION: TypedCase = {
  domain: { name: "Aster", version: "1", chainId: 56, verifyingContract: ZERO },
  primaryType: "Action",
  fields: [
    ["string", "type", "Withdraw"],
    ["address", "destination", WALLET],
    ["string", "destination Chain", "BSC"],
    ["string", "token", "USDT"],
    ["string", "amount", "31"],
    ["string", "fee", "0.3"],
    ["uint256", "nonce", "1761210000000000"],
    ["string", "aster chain", "Mainnet"],
  ],
};
const AGENT_DOMAIN = { name: "AsterSignTransaction", version: "1", chainId: 56, verifyingContract: ZERO };
const AGENT: TypedCase = {
  domain: AGENT_DOMAIN,
  primaryType: "ApproveAgent",
  fields: [
    ["string", "AgentName", "svc"],
    ["string", "AgentAddress", STRANGER],
    ["string", "IpWhitelist", ""],
    ["uint256", "Expired", 1],
    ["bool", "CanSpotTrade", true],
    ["bool", "CanPerpTrade", true],
    ["bool", "CanWithdraw", false],
    ["string", "AsterChain", "Mainnet"],
    ["string", "User", WALLET.toUpperCase().replace("0X", "0x")],
    ["uint256", "Nonce", "1"],
  ],
};
const text = (msg: string, domain = AGENT_DOMAIN): TypedCase => ({
  domain,
  primaryType: "Message",
  fields: [["string", "msg", msg]],
});
const REGISTER = `user=${WALLET}&nonce=1&agentName=svc&agentAddress=${STRANGER}&expired=1&signatureChainId=56&canSpotTrade=true&canPerpTrade=true&canWithdraw=false&ipWhitelist=10.0.0.1 10.0.0.2`;
const AGENTS = policyOf({
  venues: [{ act: "venuetwo.registerAgent" }, { act: "venuetwo.approveAgent" }, { act: "venuetwo.updateAgent" }],
});

function scaled(amount: number): bigint {
  return BigInt(amount * 10) * 10n ** BigInt(VENUE_DECIMALS - 1);
}

describe("a venue's typed data", () => {
  it("counts what it moves, the fee included", () => {
    expect(spent(typedData(WITHDRAW))).toEqual({ "venue:venueone/USDC": scaled(25.5) });
    expect(spent(typedData(ACTION))).toEqual({ "venue:venuetwo/USDT": scaled(31.3) });
    expect(spent(typedData(APPROVE_AGENT))).toEqual({});
  });

  it("is refused by default, and to an origin whose list has not its act", () => {
    for (const act of [WITHDRAW, APPROVE_AGENT, ACTION, AGENT, text(REGISTER)]) {
      expect(judged(typedData({ ...act, origin: "caller" }), DEFAULT_POLICY)).toBe("VENUE_ACT");
      expect(judged(typedData({ ...act, origin: "caller" }), policyOf(RULES))).toBe("VENUE_ACT");
    }
  });

  it("is not allowed by a rule for its domain and type", () => {
    const rule = { domain: USER_DOMAIN, primaryType: WITHDRAW.primaryType };
    expect(judged(typedData(WITHDRAW), policyOf({ typedData: [rule] }))).toBe("VENUE_ACT");
  });

  const amount = (value: string): TypedCase => ({ ...WITHDRAW, fields: with_(WITHDRAW.fields, { amount: value }) });
  const to = (value: string): TypedCase => ({ ...WITHDRAW, fields: with_(WITHDRAW.fields, { destination: value }) });
  const action = (values: Record<string, unknown>): TypedCase => ({ ...ACTION, fields: with_(ACTION.fields, values) });

  const REFUSED: readonly (readonly [string, TypedCase, string])[] = [
    ["to a stranger", to(STRANGER), "DESTINATION"],
    ["to a destination in capitals", to(WALLET.toUpperCase()), "VENUE_ACT_FIELDS"],
    ["to a destination with a blank", to(` ${WALLET}`), "VENUE_ACT_FIELDS"],
    ["above one intent's bound", amount("60.1"), "AMOUNT_EACH"],
    ...[
      "",
      "-1",
      "+1",
      "1e3",
      "1,5",
      ".5",
      "5.",
      "0x10",
      "01",
      " 1",
      "1 subaccount:0x",
      "1".repeat(80),
      "0.0000000000000000001",
      "١",
    ].map((value) => [`of the amount "${value.slice(0, 20)}"`, amount(value), "VENUE_ACT_FIELDS"] as const),
    ["of a token that is not listed", action({ token: "BNB" }), "VENUE_ACT"],
    ["of a type that is no withdrawal", action({ type: "Transfer" }), "VENUE_ACT_FIELDS"],
    ["whose chains differ", action({ "destination Chain": "ETH" }), "VENUE_ACT_FIELDS"],
    [
      "on an unknown chain",
      { ...action({ "destination Chain": "Base" }), domain: { ...ACTION.domain, chainId: 8453 } },
      "VENUE_ACT_FIELDS",
    ],
    ["whose fee is above the bound", action({ fee: "70" }), "AMOUNT_EACH"],
    ["whose fee is no amount", action({ fee: "x" }), "VENUE_ACT_FIELDS"],
    [
      "in the domain of another contract",
      { ...WITHDRAW, domain: { ...USER_DOMAIN, verifyingContract: VAULT } },
      "VENUE_LIKENESS",
    ],
    ["in a domain of another version", { ...WITHDRAW, domain: { ...USER_DOMAIN, version: "2" } }, "VENUE_LIKENESS"],
    [
      "in a domain of another case",
      { ...WITHDRAW, domain: { ...USER_DOMAIN, name: "hyperliquidSIGNtransaction" } },
      "VENUE_LIKENESS",
    ],
    [
      "in a domain with a blank",
      { ...WITHDRAW, domain: { ...USER_DOMAIN, name: " HyperliquidSignTransaction" } },
      "VENUE_LIKENESS",
    ],
    ["in another domain", { ...WITHDRAW, domain: { ...USER_DOMAIN, name: "Forum" } }, "VENUE_LIKENESS"],
    [
      "in a domain with a salt",
      { ...WITHDRAW, domain: { ...USER_DOMAIN, salt: `0x${"00".repeat(32)}` } },
      "VENUE_LIKENESS",
    ],
    [
      "in a domain without a chain",
      { ...WITHDRAW, domain: { name: USER_DOMAIN.name, version: "1", verifyingContract: ZERO } },
      "DOMAIN",
    ],
    [
      "of an unknown type",
      { ...WITHDRAW, primaryType: "HyperliquidTransaction:ConvertToMultiSigUser" },
      "VENUE_LIKENESS",
    ],
    ["with its fields in another order", { ...WITHDRAW, fields: [...WITHDRAW.fields].reverse() }, "VENUE_LIKENESS"],
    ["with a field more", { ...WITHDRAW, fields: [...WITHDRAW.fields, ["string", "x", ""]] }, "VENUE_LIKENESS"],
    [
      "that is the hash of an order",
      {
        domain: { name: "Exchange", version: "1", chainId: 1337, verifyingContract: ZERO },
        primaryType: "Agent",
        fields: [
          ["string", "source", "a"],
          ["bytes32", "connectionId", `0x${"11".repeat(32)}`],
        ],
      },
      "VENUE_ACT",
    ],
    [
      "that is the hash of an order on another chain",
      {
        domain: { name: "Exchange", version: "1", chainId: 1, verifyingContract: ZERO },
        primaryType: "Agent",
        fields: [
          ["string", "source", "a"],
          ["bytes32", "connectionId", `0x${"11".repeat(32)}`],
        ],
      },
      "VENUE_LIKENESS",
    ],
    ["that is a request as text", text("symbol=BTC", { ...AGENT_DOMAIN, chainId: 1666 }), "VENUE_ACT"],
    ["that is a request on another chain", text("symbol=BTC", { ...AGENT_DOMAIN, chainId: 1 }), "VENUE_LIKENESS"],
    [
      "of the venue that signs trades",
      {
        domain: { name: "AvantisTrading", version: "1", chainId: 8453, verifyingContract: VAULT },
        primaryType: "OpenTradeReq",
        fields: [["uint256", "x", 1]],
      },
      "VENUE_LIKENESS",
    ],
  ];

  it.each(REFUSED)("%s is refused", (_, act, rule) => {
    expect(judged(typedData(act))).toBe(rule);
  });
});

describe("an agent of venuetwo", () => {
  const agent = (values: Record<string, unknown>): TypedCase => ({ ...AGENT, fields: with_(AGENT.fields, values) });

  const TABLE: readonly (readonly [string, TypedCase, string])[] = [
    ["approved without the right to withdraw", AGENT, "ok"],
    ["approved with the right to withdraw", agent({ CanWithdraw: true }), "VENUE_ACT"],
    [
      "approved without a word about withdrawing",
      { ...AGENT, fields: AGENT.fields.filter(([, name]) => name !== "CanWithdraw") },
      "VENUE_ACT",
    ],
    [
      "approved with the right under another name",
      { ...AGENT, fields: [...AGENT.fields, ["bool", "canWithdraw", true]] },
      "VENUE_ACT_FIELDS",
    ],
    ["of another account", agent({ User: STRANGER }), "ACCOUNT"],
    ["of no account", agent({ User: "me" }), "VENUE_ACT_FIELDS"],
    [
      "whose builder gets fees",
      { ...AGENT, fields: [...AGENT.fields, ["string", "Builder", STRANGER]] },
      "DESTINATION",
    ],
    ["registered by text", text(REGISTER), "ok"],
    [
      "registered with the right to withdraw",
      text(REGISTER.replace("canWithdraw=false", "canWithdraw=true")),
      "VENUE_ACT",
    ],
    ["registered without a word about withdrawing", text(REGISTER.replace("&canWithdraw=false", "")), "VENUE_ACT"],
    ["registered with the right twice", text(`${REGISTER}&canWithdraw=true`), "VENUE_ACT_FIELDS"],
    ["registered with the right in another case", text(`${REGISTER}&CanWithdraw=true`), "VENUE_ACT_FIELDS"],
    [
      "registered with a right hidden in a name",
      text(REGISTER.replace("svc", "svc%26canWithdraw%3Dtrue")),
      "VENUE_ACT_FIELDS",
    ],
    ["registered with an unknown parameter", text(`${REGISTER}&x=1`), "VENUE_ACT_FIELDS"],
    ["registered with a second equals sign", text(`${REGISTER}=`), "VENUE_ACT_FIELDS"],
    ["registered by no text at all", text(""), "VENUE_ACT_FIELDS"],
    ["of an unknown type", { ...AGENT, primaryType: "MakeAgent" }, "VENUE_ACT_FIELDS"],
  ];

  it.each(TABLE)("%s is judged", (_, act, rule) => {
    expect(judged(typedData(act), AGENTS)).toBe(rule);
  });

  it("that may withdraw is an act of its own", () => {
    const policy = policyOf({ venues: [{ act: "venuetwo.agentThatWithdraws" }] });
    expect(judged(typedData(agent({ CanWithdraw: true })), policy)).toBe("ok");
    expect(judged(typedData(AGENT), policy)).toBe("VENUE_ACT");
  });

  it("whose builder is listed is signed for", () => {
    const policy = policyOf({ venues: [{ act: "venuetwo.approveAgent", destinations: [FRIEND] }] });
    expect(judged(typedData({ ...AGENT, fields: [...AGENT.fields, ["string", "Builder", FRIEND]] }), policy)).toBe(
      "ok",
    );
  });
});

describe("other typed data", () => {
  const POST: TypedCase = {
    domain: { name: "Forum", version: "1", chainId: CHAIN, verifyingContract: VAULT },
    primaryType: "Post",
    fields: [["string", "text", "hello"]],
  };
  const bare = { ...POST, domain: { name: "Bare", chainId: CHAIN } };

  const TABLE: readonly (readonly [string, TypedCase, string])[] = [
    ["in an allowed domain", POST, "ok"],
    ["in an allowed domain without version and contract", bare, "ok"],
    ["of another primary type", { ...POST, primaryType: "Vote" }, "TYPED_DATA"],
    ["of another chain", { ...POST, domain: { ...POST.domain, chainId: 1 } }, "TYPED_DATA"],
    ["of another contract", { ...POST, domain: { ...POST.domain, verifyingContract: FRIEND } }, "TYPED_DATA"],
    ["of another version", { ...POST, domain: { ...POST.domain, version: "2" } }, "TYPED_DATA"],
    ["of another name", { ...POST, domain: { ...POST.domain, name: "forum" } }, "TYPED_DATA"],
    ["without a chain", { ...POST, domain: { name: "Forum", version: "1", verifyingContract: VAULT } }, "DOMAIN"],
    ["on chain 0", { ...POST, domain: { ...POST.domain, chainId: 0 } }, "DOMAIN"],
    [
      "without a contract where one is named",
      { ...POST, domain: { name: "Forum", version: "1", chainId: CHAIN } },
      "TYPED_DATA",
    ],
    [
      "with a contract where none is named",
      { ...bare, domain: { ...bare.domain, verifyingContract: VAULT } },
      "TYPED_DATA",
    ],
    ["with a version where none is named", { ...bare, domain: { ...bare.domain, version: "1" } }, "TYPED_DATA"],
    ["with a salt", { ...POST, domain: { ...POST.domain, salt: `0x${"00".repeat(32)}` } }, "TYPED_DATA"],
  ];

  it.each(TABLE)("%s is judged", (_, typed, rule) => {
    expect(judged(typedData(typed))).toBe(rule);
    expect(judged(typedData(typed), DEFAULT_POLICY)).toBe(rule === "DOMAIN" ? "DOMAIN" : "TYPED_DATA");
  });
});
