import { playChild } from "../kit/crash/index.ts";
import * as unsafe from "../kit/crash/unsafe.fixture.ts";
import { sqliteStore } from "./store.ts";

/** The process that the crash runner kills: the SQLite store, as it is or made unsafe. */
await playChild({
  sqlite: () => sqliteStore(),
  answersEarly: () => unsafe.answersEarly(sqliteStore()),
  commitsInTwoSteps: () => unsafe.commitsInTwoSteps(sqliteStore()),
  tellsInTwoSteps: () => unsafe.tellsInTwoSteps(sqliteStore()),
  takesFromTheLiving: () => unsafe.takesFromTheLiving(sqliteStore()),
  waitsForTheDead: () => unsafe.waitsForTheDead(sqliteStore()),
});
