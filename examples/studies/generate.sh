#!/bin/sh
# Writes the data of the studies beside this file, but of `shop`, which has its data, and of `iot`, which has a generator of its own.
# A linear congruential generator makes the same data each time. Usage: sh generate.sh
set -eu
cd "$(dirname "$0")"
awk '
function random(n) { seed = (seed * 1103515 + 12345) % 2147483647; return int(seed / 7) % n }
function text(bytes,  made) { made = substr(filler, 1 + random(200), bytes); return made }
function day(n) { return sprintf("2026-%02d-%02d", 1 + int(n / 28) % 12, 1 + n % 28) }
function tenant(u,  r) { r = u % 20; return r < 12 ? 0 : r < 16 ? 1 : r < 18 ? 2 : r < 19 ? 3 : 4 }
function time(n, s) { return day(n) sprintf("T%02d:%02d:%02d.000Z", int(s / 3600) % 24, int(s / 60) % 60, s % 60) }
BEGIN {
  seed = 42
  words = "parcel window silver meadow river under autumn paper candle signal harbour lantern copper garden winter travel "
  for (filler = ""; length(filler) < 8000; ) filler = filler words

  d = "deliveries/"
  for (i = 0; i < 1000; i++) printf "{\"id\":\"owner-%06d\",\"name\":\"Owner %d\"}\n", i, i > (d "owners.jsonl")
  for (m = 1; m <= 24; m++) printf "{\"id\":\"%d-%02d\"}\n", 2024 + int((m - 1) / 12), 1 + (m - 1) % 12 > (d "months.jsonl")
  for (i = 0; i < 20000; i++) {
    m = int(i * 24 / 20000)
    printf "{\"id\":\"d-%08d\",\"owner\":\"owner-%06d\",\"month\":\"%d-%02d\",\"pickup\":\"%s\",\"dropOff\":\"%s\",\"packageIds\":[\"p%d\",\"q%d\"],\"droneId\":\"drone-%04d\",\"status\":\"completed\",\"distance\":%.1f,\"started\":\"%s\",\"completed\":\"%s\"}\n", \
      i, random(1000), 2024 + int(m / 12), 1 + m % 12, text(100), text(100), i, i, random(900), random(400) / 10, time(i % 330, i), time(i % 330, i + 900) > (d "deliveries.jsonl")
  }

  d = "city-sensors/"
  for (i = 0; i < 200; i++) printf "{\"id\":\"s%05d\",\"district\":\"district-%d\"}\n", i, i % 10 > (d "devices.jsonl")
  for (i = 0; i < 20000; i++) {
    s = int(i / 200) * 1728
    printf "{\"id\":\"r-%08d\",\"device\":\"s%05d\",\"day\":\"%s\",\"minute\":\"%s\",\"at\":\"%s\",\"temperature\":%.1f,\"humidity\":%d,\"airQuality\":%d,\"noise\":%d,\"note\":\"%s\"}\n", \
      i, i % 200, day(int(s / 86400)), substr(time(int(s / 86400), s), 1, 16), time(int(s / 86400), s), random(350) / 10, random(100), random(300), random(90), text(700) > (d "readings.jsonl")
  }

  d = "shop-orders/"
  for (i = 0; i < 1000; i++) printf "{\"id\":\"c-%06d\",\"name\":\"Customer %d\",\"address\":\"%s\"}\n", i, i, text(850) > (d "customers.jsonl")
  split("pending shipped delivered cancelled", status, " ")
  for (i = 0; i < 10000; i++) {
    r = random(100); s = r < 2 ? 1 : r < 8 ? 2 : r < 93 ? 3 : 4; lines = ""
    for (l = 3 + random(3); l > 0; l--)
      lines = lines (lines == "" ? "" : ",") sprintf("{\"product\":\"sku-%04d\",\"quantity\":%d,\"price\":%d,\"text\":\"%s\"}", random(5000), 1 + random(4), random(90000), text(270))
    printf "{\"id\":\"o-%08d\",\"customer\":\"c-%06d\",\"status\":\"%s\",\"placed\":\"%s\",\"currency\":\"EUR\",\"channel\":\"web\",\"note\":\"%s\",\"total\":%d,\"lines\":[%s]}\n", \
      i, random(1000), status[s], time(i % 330, i), text(300), random(200000), lines > (d "orders.jsonl")
  }

  d = "orders-and-customers/"
  for (i = 0; i < 200; i++) printf "{\"id\":\"c-%06d\",\"name\":\"Customer %d\",\"email\":\"customer%d@example.com\",\"phone\":\"+43 1 %06d\",\"address\":\"%s\"}\n", i, i, i, random(1000000), text(800) > (d "customers.jsonl")
  for (i = 0; i < 10000; i++)
    printf "{\"id\":\"o-%08d\",\"customer\":\"c-%06d\",\"status\":\"%s\",\"lines\":[{\"product\":\"sku-%04d\",\"quantity\":1,\"text\":\"%s\"},{\"product\":\"sku-%04d\",\"quantity\":2,\"text\":\"%s\"}]}\n", \
      i, i % 200, status[1 + random(4)], random(5000), text(400), random(5000), text(400) > (d "orders.jsonl")

  for (v = 1; v <= 2; v++) {
    d = v == 1 ? "order-lines-small/" : "order-lines-large/"
    for (i = 0; i < 500; i++) {
      lines = ""
      for (l = 0; l < 8; l++) {
        line = sprintf("\"product\":\"sku-%04d\",\"quantity\":%d,\"status\":\"%s\",\"text\":\"%s\"", random(5000), 1 + random(4), status[1 + random(4)], text(v == 1 ? 250 : 5900))
        lines = lines (l == 0 ? "" : ",") "{" line "}"
        printf "{\"id\":\"l-%06d-%d\",\"order\":\"o-%06d\",%s}\n", i, l, i, line > (d "lines.jsonl")
      }
      printf "{\"id\":\"o-%06d\",\"customerId\":\"c-%06d\",\"status\":\"open\",\"text\":\"%s\",\"lines\":[%s]}\n", i, random(9999), text(v == 1 ? 650 : 1800), lines > (d "orders.jsonl")
    }
  }

  d = "tenant-events/"
  for (i = 0; i < 5; i++) printf "{\"id\":\"tenant-%d\",\"name\":\"Tenant %d\"}\n", i, i > (d "tenants.jsonl")
  for (i = 0; i < 2000; i++) printf "{\"id\":\"user-%06d\",\"name\":\"User %d\",\"tenant\":\"tenant-%d\"}\n", i, i, tenant(i) > (d "users.jsonl")
  split("sign-in click click click payment", kind, " ")
  for (i = 0; i < 20000; i++) {
    u = random(2000); t = tenant(u)
    printf "{\"id\":\"e-%08d\",\"tenant\":\"tenant-%d\",\"user\":\"user-%06d\",\"kind\":\"%s\",\"at\":\"%s\",\"data\":\"%s\"}\n", i, t, u, kind[1 + random(5)], time(i % 7, i), text(800) > (d "events.jsonl")
  }

  d = "channel-messages/"
  for (i = 0; i < 10000; i++) printf "{\"id\":\"ch-%07d\",\"name\":\"Channel %d\"}\n", i, i > (d "channels.jsonl")
  for (i = 0; i < 20000; i++) {
    c = i % 2857 == 0 ? 0 : 1 + random(9999); n = int(i * 330 / 20000)
    printf "{\"id\":\"m-%08d\",\"channel\":\"ch-%07d\",\"window\":\"%s\",\"authorId\":\"a-%06d\",\"content\":\"%s\",\"at\":\"%s\"}\n", i, c, day(int(n / 10) * 10), random(99999), text(400), time(n, i) > (d "messages.jsonl")
  }
}'
