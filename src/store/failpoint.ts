/**
 * Points at which a test may have this process killed, to see what a crash there leaves behind.
 * `FERMATA_FAILPOINT=name` kills it at the first passing, `name:3` at the third. It is
 * decided once, when this file is loaded: without the variable a passing is an empty call.
 */
export const failpoint: (name: string) => void = armed(process.env.FERMATA_FAILPOINT ?? "");

function armed(setting: string): (name: string) => void {
  if (setting === "") return () => {};
  const [wanted, count = "1"] = setting.split(":");
  let left = Number(count);
  return (name) => {
    if (name !== wanted) return;
    left -= 1;
    // Nothing may run after this, not even an exit handler: that is what a crash is.
    if (left === 0) process.kill(process.pid, "SIGKILL");
  };
}
