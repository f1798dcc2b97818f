import { describe, expect, it } from "vitest";
import { VENUEFIVE_OPTIONS } from "../../feeds/venuefive/descriptor.js";
import { CLIENT_SIGNED_OPTIONS, readClientSigned } from "./config-client-signed.js";
import { readConfig } from "./config.js";

const KEY = "a-key-of-the-operator";
const FAR = `https://node.example/${KEY}`;
const NEAR = "http://127.0.0.1:8545";

function read(environment: Readonly<Record<string, string>>) {
  return readConfig(environment, () => null);
}

/** As `npm run serve` reads them: the whole profile needs files of its own, which are tested elsewhere. */
function served(urls: readonly string[]): readonly string[] {
  const problems: string[] = [];
  const defaults = Object.entries(CLIENT_SIGNED_OPTIONS).map(([name, option]) => [
    name,
    "default" in option ? option.default : "",
  ]);
  readClientSigned({ ...Object.fromEntries(defaults), VENUEFIVE_RPC_URLS: urls }, true, problems);
  return problems;
}

describe("the options of the client-signed venue", () => {
  it("are those of its room, each under the name of the venue", () => {
    expect(Object.keys(CLIENT_SIGNED_OPTIONS)).toEqual(
      Object.keys(VENUEFIVE_OPTIONS).map((name) => `VENUEFIVE_${name}`),
    );
  });

  it("leave it out where no endpoint is set, and where it is switched off", () => {
    for (const environment of [{}, { VENUEFIVE_RPC_URLS: NEAR, VENUEFIVE_ENABLED: "false" }])
      expect(read(environment)).toMatchObject({ ok: true, config: { clientSigned: null } });
  });

  it("are read from the environment", () => {
    const result = read({
      ...{ VENUEFIVE_RPC_URLS: `${FAR},${NEAR}`, VENUEFIVE_PAIRS: "ETH=0,XAU=21", VENUEFIVE_CHAIN_ID: "84532" },
      ...{ VENUEFIVE_FROM_BLOCK: "7", VENUEFIVE_HISTORY_URL: "https://history.example/v2" },
    });
    if (!result.ok || result.config.clientSigned === null) throw new Error(JSON.stringify(result));
    const { rpcUrls, chainId, fromBlock, historyUrl, map } = result.config.clientSigned;
    expect({ rpcUrls, chainId, fromBlock, historyUrl, symbols: [...map.symbols] }).toEqual({
      ...{ rpcUrls: [FAR, NEAR], chainId: 84_532, fromBlock: 7, historyUrl: "https://history.example/v2" },
      symbols: [
        [0, "ETH"],
        [21, "XAU"],
      ],
    });
  });

  it("are refused all at once, in whole sentences, without a URL's key", () => {
    const result = read({ VENUEFIVE_RPC_URLS: `ws://node.example/${KEY}`, VENUEFIVE_PAIRS: "ETH" });
    expect(result).toEqual({
      ok: false,
      problems: [
        "VENUEFIVE_RPC_URLS: endpoint 1 must be a URL of http or https",
        'VENUEFIVE_PAIRS: "ETH" is not like ETH=0',
      ],
    });
  });

  it("under npm run serve want https of other machines, and name the endpoint by its number alone", () => {
    expect(served([FAR, NEAR, "http://[::1]:8545"])).toEqual([]);
    const problem = "VENUEFIVE_RPC_URLS: endpoint 2 must be https unless it is on this machine";
    expect(served([FAR, `http://node.example/${KEY}`])).toEqual([problem]);
    // Elsewhere it is the operator's own choice.
    expect(read({ VENUEFIVE_RPC_URLS: `http://node.example/${KEY}` })).toMatchObject({ ok: true });
  });
});
