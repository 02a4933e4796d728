#!/bin/sh
# Writes the data of the study: devices.jsonl, days.jsonl and readings.jsonl.
# Usage: sh generate.sh [READINGS]   (default 1000000: 1,000 devices over 30 days, each as busy as any other but the first)
set -eu
readings="${1:-1000000}"
cd "$(dirname "$0")"
awk -v readings="$readings" 'BEGIN {
  devices = 1000; days = 30; seed = 42
  for (d = 0; d < devices; d++)
    printf "{\"id\":\"dev-%04d\",\"name\":\"Sensor %d\",\"place\":\"Hall %d\"}\n", d, d, d % 40 > "devices.jsonl"
  for (n = 1; n <= days; n++)
    printf "{\"id\":\"2026-10-%02d\"}\n", n > "days.jsonl"
  for (r = 0; r < readings; r++) {
    # A linear congruential generator: the same readings each time.
    seed = (seed * 1103515 + 12345) % 2147483647
    device = (r % 200 == 0) ? 0 : seed % devices
    day = int(r * days / readings) + 1
    minute = int(r * days * 1440 / readings) % 1440
    printf "{\"id\":\"r-%08d\",\"device\":\"dev-%04d\",\"day\":\"2026-10-%02d\",\"at\":\"2026-10-%02dT%02d:%02d:%02d.000Z\",\"temperature\":%.1f,\"humidity\":%d}\n", \
      r, device, day, day, int(minute / 60), minute % 60, seed % 60, 15 + seed % 150 / 10, 30 + seed % 50 > "readings.jsonl"
  }
}'
