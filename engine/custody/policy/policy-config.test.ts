/** The policy file: what is unknown, missing or in doubt is refused with its path, and the example of the docs is read. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CUSTODY_ACTS } from "../../../feeds/custody-acts.js";
import { jsonBytes } from "../digest/test/typed-data-cases.js";
import { DEFAULT_POLICY } from "./policy.js";
import { readPolicyConfig } from "./policy-config.js";
import { policyErrorCode, POLICY_RULES, policyRuleName, refusalReply } from "./refusals.js";
import { ACTS, CHAIN, RULES, TOKEN, VAULT } from "./test/policies.js";

function problems(file: unknown): readonly string[] {
  const bytes = typeof file === "string" ? new TextEncoder().encode(file) : jsonBytes(file);
  const read = readPolicyConfig(bytes, CUSTODY_ACTS);
  return read.ok ? [] : read.problems.map(({ path, problem }) => `${path}: ${problem}`);
}

/** The rules with one member changed, by its path. */
function changed(path: string, value: unknown): unknown {
  const service = structuredClone(RULES) as unknown;
  const keys = path.split(".");
  const last = keys.pop() ?? "";
  const holder = keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], service) as Record<
    string,
    unknown
  >;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return { format: 1, service };
}

describe("a policy file", () => {
  it("that is empty but for its format is the default", () => {
    expect(readPolicyConfig(jsonBytes({ format: 1 }), CUSTODY_ACTS)).toEqual({ ok: true, policy: DEFAULT_POLICY });
  });

  it("with rules for one origin leaves the other at its default", () => {
    const read = readPolicyConfig(jsonBytes({ format: 1, service: RULES }), CUSTODY_ACTS);
    expect(read.ok && read.policy.caller).toEqual(DEFAULT_POLICY.caller);
  });

  it("can take the messages of callers away", () => {
    const read = readPolicyConfig(jsonBytes({ format: 1, callers: { messages: [] } }), CUSTODY_ACTS);
    expect(read.ok && read.policy.caller.messages).toEqual([]);
  });

  const METHOD = "contracts.0.methods.0";
  const TABLE: readonly (readonly [path: string, value: unknown, reported: string])[] = [
    ["extra", 1, "service.extra"],
    ["chains.0.extra", 1, "service.chains[0].extra"],
    ["native.0.extra", 1, "service.native[0].extra"],
    ["tokens.0.extra", 1, "service.tokens[0].extra"],
    ["contracts.0.extra", 1, "service.contracts[0].extra"],
    [`${METHOD}.extra`, 1, "service.contracts[0].methods[0].extra"],
    [`${METHOD}.amount.extra`, 1, "service.contracts[0].methods[0].amount.extra"],
    [`${METHOD}.fixed.0.extra`, 1, "service.contracts[0].methods[0].fixed[0].extra"],
    ["contracts.0.methods.2.destination.extra", 1, "service.contracts[0].methods[2].destination.extra"],
    ["permits.0.extra", 1, "service.permits[0].extra"],
    ["permits.0.token", TOKEN, "service.permits[0].token"],
    ["typedData.0.extra", 1, "service.typedData[0].extra"],
    ["typedData.0.domain.salt", "0x", "service.typedData[0].domain.salt"],
    ["venues.0.extra", 1, "service.venues[0].extra"],
    ["venues.1.destinations", ["self"], "service.venues[1].destinations"],
    ["venues.1.perDay", "1", "service.venues[1].perDay"],
    ["venues.0.act", "venueone.everything", "service.venues[0].act"],
    ["venues.0.act", "__proto__", "service.venues[0].act"],
    ["venues.0.perDay", "1e3", "service.venues[0].perDay"],
    ["chains.0.chainId", 0, "service.chains[0].chainId"],
    ["chains.0.perDay", 5000, "service.chains[0].perDay"],
    ["chains.0.perDay", "-1", "service.chains[0].perDay"],
    ["chains.0.perDay", undefined, "service.chains[0].perDay"],
    ["chains.0.perDay", String(1n << 256n), "service.chains[0].perDay"],
    ["chains.0.perIntent", "5001", "service.chains[0].perIntent"],
    ["chains.1.chainId", CHAIN, "service.chains[1]"],
    ["native.0.chainId", 9, "service.native[0].chainId"],
    ["native.0.destinations", [], "service.native[0].destinations"],
    ["native.0.destinations", undefined, "service.native[0].destinations"],
    ["native.0.destinations", ["*"], "service.native[0].destinations[0]"],
    ["native.0.destinations", [`0x${"0".repeat(40)}`], "service.native[0].destinations[0]"],
    ["tokens.0.token", "0xcD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826", "service.tokens[0].token"],
    ["tokens.0.methods", [], "service.tokens[0].methods"],
    ["tokens.0.methods", ["mint"], "service.tokens[0].methods[0]"],
    [`${METHOD}.free`, undefined, "service.contracts[0].methods[0].signature"],
    [`${METHOD}.free`, [2, 2], "service.contracts[0].methods[0].argument"],
    [`${METHOD}.free`, [3], "service.contracts[0].methods[0].free[0]"],
    [`${METHOD}.signature`, "deposit(address,uint256,bytes)", "service.contracts[0].methods[0].signature"],
    [`${METHOD}.signature`, "setApprovalForAll(address,bool)", "service.contracts[0].methods[0].signature"],
    // The same four bytes as transfer(address,uint256).
    [`${METHOD}.signature`, "many_msg_babbage(bytes1)", "service.contracts[0].methods[0].signature"],
    [`${METHOD}.amount.argument`, 0, "service.contracts[0].methods[0].amount.argument"],
    [`${METHOD}.fixed.0.value`, "here", "service.contracts[0].methods[0].fixed[0].value"],
    ["contracts.0.methods.2.destination.argument", 2, "service.contracts[0].methods[2].destination.argument"],
    ["digests", "yes", "service.digests"],
    ["messages", ["everything"], "service.messages[0]"],
    ["permits.0.kind", "eip1", "service.permits[0].kind"],
    ["chains", {}, "service.chains"],
  ];

  it.each(TABLE)("with %s as %j is refused at %3$s", (path, value, reported) => {
    expect(problems(changed(path, value)).map((problem) => problem.split(": ")[0])).toContain(reported);
  });

  it("reports all problems at once", () => {
    expect(problems({ format: 2, service: { a: 1, chains: [{}] }, other: 1 })).toEqual([
      "format: must be 1",
      "service.chains[0].chainId: is missing",
      "service.chains[0].perDay: is missing",
      "service.a: unknown member",
      "other: unknown member",
    ]);
  });

  it("with two methods of one selector is refused", () => {
    // Both have the selector 0x42966c68.
    const methods = ["burn(uint256)", "collate_propagate_storage(bytes16)"].map((signature) => ({
      signature,
      free: [0],
    }));
    const service = { chains: RULES.chains, contracts: [{ chainId: CHAIN, contract: VAULT, methods }] };
    expect(problems({ format: 1, service })).toEqual([
      "service.contracts[0].methods[1].signature: has the selector of another method of this contract",
    ]);
  });

  it.each([
    ['{"format":1,"format":1}', /same member twice/],
    ['{"format":1,"__proto__":{}}', /__proto__: unknown/],
    ['{"format":1,"service":{"constructor":1}}', /constructor: unknown/],
    ["[]", /must be an object/],
    ["", /not a value/],
    ['{"format":1,"service":{"chains":[{"chainId":1.5}]}}', /no integer/],
  ])("of the text %s is refused", (text, problem) => {
    expect(problems(text).join("\n")).toMatch(problem);
  });

  it("that is the example of docs/custody.md is read", () => {
    const page = readFileSync(new URL("../../../docs/custody.md", import.meta.url), "utf8");
    const example = /```json\n([\s\S]*?)```/.exec(page)?.[1];
    expect(problems(example ?? "")).toEqual([]);
  });
});

describe("what venues have signed", () => {
  it("is, by the registry of rooms, what the tests of the rules join", () => {
    expect(CUSTODY_ACTS.names).toEqual(ACTS.names);
  });

  it("is on the page of operators, act by act", () => {
    const page = readFileSync(new URL("../../../docs/custody.md", import.meta.url), "utf8");
    const [, section = ""] = page.split("## A venue for the service, and not for callers\n");
    const [list = ""] = section.split("\n\n`typedData`");
    const words = [...list.matchAll(/`([a-z]+\.)?([a-zA-Z0-9]*)`/g)];
    let venue = "";
    const listed = words.flatMap(([, prefix, name = ""]) => {
      venue = prefix ?? venue;
      return name === "" || venue === "" ? [] : [`${venue}${name}`];
    });
    for (const name of CUSTODY_ACTS.names) expect(listed).toContain(name);
  });
});

describe("the numbers of rules", () => {
  it("are on the page of operators, each with its name", () => {
    const page = readFileSync(new URL("../../../docs/custody.md", import.meta.url), "utf8");
    for (const [name, number] of Object.entries(POLICY_RULES)) expect(page).toContain(`| ${number} | \`${name}\` |`);
  });

  it("tell destinations from the rest", () => {
    expect([18, 1, 999].map(policyErrorCode)).toEqual(["DESTINATION_NOT_ALLOWED", "POLICY_REFUSED", "POLICY_REFUSED"]);
    expect([policyRuleName(1), policyRuleName(999)]).toEqual(["INTENT", null]);
  });

  it("are named in the reply, those of another version by their number", () => {
    expect(refusalReply(18)).toEqual({ code: "DESTINATION_NOT_ALLOWED", rule: "DESTINATION" });
    expect(refusalReply(21)).toEqual({ code: "POLICY_REFUSED", rule: "AMOUNT_DAY" });
    expect(refusalReply(999)).toEqual({ code: "POLICY_REFUSED", rule: "RULE_999" });
  });
});
