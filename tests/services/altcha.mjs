// A client of the ALTCHA protocol, for tests: solves a task with the protocol's own library.
// Usage: node altcha.mjs TASK, the task being JSON. Prints the answer as a form would send it.
import { solveChallenge } from "altcha-lib/v1";

const { algorithm, challenge, maxnumber, salt, signature } = JSON.parse(process.argv[2]);
const { number } = await solveChallenge(challenge, salt, algorithm, maxnumber).promise;
const answer = JSON.stringify({ algorithm, challenge, number, salt, signature });
console.log(Buffer.from(answer).toString("base64"));
