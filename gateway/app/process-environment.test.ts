import { expect, it } from "vitest";
import { takeEnvironment } from "./process-environment.js";

it("secrets are in what was read, and no more in the environment of the process", () => {
  const secrets = { KEK_HEX: "a", KEK_PASSPHRASE: "b", KEK_FORMER_HEX: "c", KEK_FORMER_PASSPHRASE: "d" };
  const others = { SERVER_SECRET: "e", CLICKHOUSE_PASSWORD: "f", CHAIN_56_RPC_URLS: "https://node.example/key" };
  const plain = { PORT: "1", KEK_FILE: "kek", PATH: "/bin" };
  const environment: NodeJS.ProcessEnv = { ...secrets, ...others, ...plain };
  expect(takeEnvironment(environment)).toEqual({ ...secrets, ...others, ...plain });
  expect(environment).toEqual(plain);
});
