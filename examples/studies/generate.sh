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

  d = "web-sessions/"
  for (i = 0; i < 20000; i++) printf "{\"id\":\"%016d%07d%s\",\"bucket\":\"b%02d\",\"state\":\"%s\",\"lock\":%d,\"expires\":\"%s\"}\n", random(99999999), i, substr("abcdefghijklmnopqrstuvwxyz012345", 1 + i % 32, 1), i % 32, text(1850), random(2), time(i % 330, i) > (d "sessions.jsonl")

  d = "company-onboarding/"
  for (i = 0; i < 20; i++) printf "{\"id\":\"bucket-%02d\"}\n", i > (d "buckets.jsonl")
  for (i = 0; i < 1000; i++) {
    printf "{\"id\":\"company-%05d\"}\n", i > (d "companies.jsonl")
    for (e = 0; e < 12; e++) printf "{\"id\":\"o-%05d-%02d\",\"company\":\"company-%05d\",\"bucket\":\"bucket-%02d\",\"environment\":\"%s\",\"startDate\":\"%s\",\"progress\":\"%s\"}\n", i, e, i, i % 20, e == 0 ? "production" : "test-" e, time(i % 330, i), text(1700) > (d "onboardings.jsonl")
  }

  d = "function-runs/"
  for (i = 0; i < 2000; i++) printf "{\"id\":\"ns-%05d\"}\n", i > (d "namespaces.jsonl")
  for (i = 0; i < 20000; i++) printf "{\"id\":\"run-%08d\",\"namespace\":\"ns-%05d\",\"path\":\"function-%04d\",\"startedAt\":\"%s\",\"finishedAt\":\"%s\",\"state\":\"ok\",\"response\":\"%s\"}\n", i, i % 5 == 0 ? 0 : 1 + random(1999), random(500), time(i % 30, i), time(i % 30, i + 2), text(2100) > (d "runs.jsonl")

  d = "seismic-datasets/"
  for (i = 0; i < 5; i++) printf "{\"id\":\"sub-%02d\",\"access\":\"%s\"}\n", i, text(900) > (d "subprojects.jsonl")
  for (i = 0; i < 5; i++) printf "{\"id\":\"folder-%02d\"}\n", i > (d "folders.jsonl")
  for (i = 0; i < 10000; i++) { f = i % 20 == 0 ? 1 + random(4) : 0; printf "{\"id\":\"sub-%02d/folder-%02d/trace-%07d\",\"subproject\":\"sub-%02d\",\"folder\":\"folder-%02d\",\"name\":\"trace-%07d\",\"createdBy\":\"job\",\"created\":\"%s\",\"tags\":\"%s\"}\n", f, f, i, f, f, i, time(i % 330, i), text(1200) > (d "datasets.jsonl") }

  d = "share-portfolios/"
  for (i = 0; i < 500; i++) printf "{\"id\":\"share-%03d\",\"symbol\":\"S%03d\",\"price\":%.2f,\"high\":%.2f,\"low\":%.2f,\"volume\":%d,\"text\":\"%s\"}\n", i, i, random(90000) / 100, random(90000) / 100, random(90000) / 100, random(9999999), text(180) > (d "shares.jsonl")
  for (i = 0; i < 2500; i++) {
    held = ""
    for (l = 0; l < 20; l++) held = held (l == 0 ? "" : ",") sprintf("\"share-%03d\"", (i * 7 + l * 23) % 500)
    printf "{\"id\":\"p-%06d\",\"name\":\"Person %d\",\"holdings\":[%s]}\n", i, i, held > (d "people.jsonl")
  }

  d = "facility-devices/"
  for (i = 0; i < 10000; i++) printf "{\"id\":\"dev-%04d\"}\n", i > (d "devices.jsonl")
  for (i = 0; i < 10; i++) printf "{\"id\":\"%s\"}\n", day(i) > (d "days.jsonl")
  for (i = 0; i < 20000; i++) { n = int(i / 2000); printf "{\"id\":\"r-%08d\",\"device\":\"dev-%04d\",\"day\":\"%s\",\"month\":\"%s\",\"at\":\"%s\",\"temperature\":%.1f,\"humidity\":%d,\"battery\":%d,\"note\":\"%s\"}\n", i, i % 10000, day(n), substr(day(n), 1, 7), time(n, i * 43), random(350) / 10, random(100), random(100), text(250) > (d "readings.jsonl") }

  d = "stock-counter/"
  list = ""
  for (i = 0; i < 20; i++) {
    list = list (i == 0 ? "" : ",") sprintf("\"part-%02d\"", i)
    printf "{\"id\":\"part-%02d\",\"product\":\"sku-0001\",\"value\":5000,\"note\":\"%s\"}\n", i, text(150) > (d "parts.jsonl")
  }
  printf "{\"id\":\"sku-0001\",\"parts\":[%s]}\n", list > (d "products.jsonl")
  printf "{\"id\":\"sku-0001\",\"parts\":[{\"value\":100000}],\"note\":\"%s\"}\n", text(230) > (d "totals.jsonl")

  d = "viral-scoreboard/"
  shards = best = ""
  for (i = 0; i < 20; i++) {
    shards = shards (i == 0 ? "" : ",") sprintf("\"shard-%02d\"", i)
    printf "{\"id\":\"shard-%02d\"}\n", i > (d "shards.jsonl")
  }
  for (i = 0; i < 100; i++) best = best (i == 0 ? "" : ",") sprintf("{\"score\":%d,\"playerId\":\"p-%07d\",\"name\":\"Player %d\"}", 999999 - i, i, i)
  printf "{\"id\":\"game-1\",\"parts\":[%s]}\n", shards > (d "games.jsonl")
  printf "{\"id\":\"game-1\",\"games\":[\"game-1\"]}\n" > (d "parts.jsonl")
  printf "{\"id\":\"game-1\",\"parts\":[{\"entries\":[%s]}]}\n", best > (d "boards.jsonl")
  for (i = 0; i < 10; i++) printf "{\"id\":\"game-1-%d\",\"parts\":[{\"entries\":[%s]}]}\n", i, best > (d "copies.jsonl")
  for (i = 0; i < 20000; i++) printf "{\"id\":\"p-%07d\",\"game\":\"game-1\",\"shard\":\"shard-%02d\",\"score\":%d,\"playerId\":\"p-%07d\",\"name\":\"Player %d\",\"time\":\"%s\"}\n", i, random(20), random(999999), i, i, time(i % 330, i) > (d "entries.jsonl")

  for (v = 1; v <= 2; v++) {
    d = v == 1 ? "clinical-records/" : "clinical-records-later/"
    records = v == 1 ? 20000 : 400; versions = v == 1 ? 571 : 20857
    for (i = 0; i < records / 20; i++) printf "{\"id\":\"patient-%06d\"}\n", i > (d "patients.jsonl")
    for (i = 0; i < records; i++) printf "{\"id\":\"record-%06d\",\"patient\":\"patient-%06d\",\"kind\":\"Observation\",\"practitionerId\":\"pr-%05d\",\"code\":\"%d-%d\",\"changed\":\"%s\",\"text\":\"%s\"}\n", i, i % (records / 20), random(9000), random(99999), random(9), time(i % 330, i), text(2200) > (d "records.jsonl")
    for (i = 0; i < versions; i++) { r = random(records); printf "{\"id\":\"version-%07d\",\"record\":\"record-%06d\",\"patientId\":\"patient-%06d\",\"kind\":\"Observation\",\"practitionerId\":\"pr-%05d\",\"code\":\"%d-%d\",\"changed\":\"%s\",\"text\":\"%s\"}\n", i, r, r % (records / 20), random(9000), random(99999), random(9), time(i % 330, i), text(2200) > (d "versions.jsonl") }
  }

  d = "room-temperatures/"
  for (r = 0; r < 1000; r++) printf "{\"id\":\"room-%04d\"}\n", r > (d "rooms.jsonl")
  for (m = 0; m < 2; m++) {
    rows = ""
    for (r = 0; r < 1000; r++) {
      readings = ""
      for (e = 0; e < 12; e++) {
        at = time(0, m * 60 + e * 5); t = 18 + random(80) / 10
        readings = readings (e == 0 ? "" : ",") sprintf("{\"at\":\"%s\",\"temperature\":%.1f,\"received\":\"%s\"}", at, t, at)
        printf "{\"id\":\"e-%d-%04d-%02d\",\"room\":\"room-%04d\",\"minute\":\"minute-%d\",\"at\":\"%s\",\"mean\":%.1f,\"unit\":\"C\",\"received\":\"%s\"}\n", m, r, e, r, m, at, t, at > (d "events.jsonl")
      }
      rows = rows (r == 0 ? "" : ",") sprintf("{\"room\":\"room-%04d\",\"mean\":%.1f,\"minimum\":%.1f,\"maximum\":%.1f}", r, t, t - 1, t + 1)
      printf "{\"id\":\"m-%d-%04d\",\"room\":\"room-%04d\",\"minute\":\"minute-%d\",\"at\":\"%s\",\"mean\":%.1f,\"minimum\":%.1f,\"maximum\":%.1f,\"number\":12,\"readings\":[%s]}\n", m, r, r, m, time(0, m * 60), t, t - 1, t + 1, readings > (d "room-minutes.jsonl")
    }
    printf "{\"id\":\"minute-%d\",\"rows\":[%s]}\n", m, rows > (d "minutes.jsonl")
  }

  d = "plant-telemetry/"
  for (i = 0; i < 15; i++) printf "{\"id\":\"plant-%02d\"}\n", i > (d "plants.jsonl")
  for (i = 0; i < 450; i++) printf "{\"id\":\"plant-%02d-%s\"}\n", i % 15, day(int(i / 15)) > (d "plant-days.jsonl")
  for (i = 0; i < 500; i++) printf "{\"id\":\"logger-%04d\"}\n", i > (d "loggers.jsonl")
  for (i = 0; i < 2000; i++) printf "{\"id\":\"sensor-%06d\"}\n", i > (d "sensors.jsonl")
  for (i = 0; i < 20000; i++) {
    n = i % 2000; p = n % 4 == 0 ? 0 : 1 + n % 14
    printf "{\"id\":\"m-%08d\",\"plant\":\"plant-%02d\",\"logger\":\"logger-%04d\",\"sensor\":\"sensor-%06d\",\"plantDay\":\"plant-%02d-%s\",\"alarm\":%s,\"at\":\"%s\",\"ticks\":%d,\"location\":\"%s\",\"data\":\"%s\"}\n", \
      i, p, int(n / 4), n, p, day(int(i * 30 / 20000)), random(50) == 0 ? "true" : "false", time(int(i * 30 / 20000), i * 4), i, text(60), text(1150) > (d "messages.jsonl")
  }

  d = "game-leaderboard/"
  for (c = 0; c < 100; c++) printf "{\"id\":\"country-%02d\"}\n", c > (d "countries.jsonl")
  printf "{\"id\":\"2026-W10\"}\n" > (d "weeks.jsonl")
  best = ""
  for (i = 0; i < 100; i++) best = best (i == 0 ? "" : ",") sprintf("{\"name\":\"Player %d\",\"country\":\"country-%02d\",\"best\":%d}", i, i % 100, 999999 - i)
  for (b = 0; b < 202; b++) { printf "{\"id\":\"board-%03d\"}\n", b > (d "boards.jsonl"); printf "{\"id\":\"board-%03d\",\"entries\":[%s]}\n", b, best > (d "tops.jsonl") }
  for (i = 0; i < 5000; i++) {
    c = i % 10 < 3 ? 0 : 1 + random(99)
    printf "{\"id\":\"p-%06d\",\"name\":\"Player %d\",\"country\":\"country-%02d\",\"best\":%d,\"mean\":%d,\"games\":%d}\n", i, i, c, random(999999), random(99999), random(500) > (d "players.jsonl")
    for (l = 0; l < 4; l++) {
      printf "{\"id\":\"b%d-%06d\",\"board\":\"board-%03d\",\"playerId\":\"p-%06d\",\"name\":\"Player %d\",\"country\":\"country-%02d\",\"best\":%d}\n", l, i, l < 2 ? l : 2 + (l - 2) * 100 + c, i, i, c, random(999999) > (d "entries.jsonl")
      printf "{\"id\":\"s%d-%06d\",\"player\":\"p-%06d\",\"name\":\"Player %d\",\"country\":\"country-%02d\",\"best\":%d,\"at\":\"%s\",\"week\":\"2026-W10\",\"nation\":\"country-%02d\"}\n", l, i, i, i, c, random(999999), time(0, i * 4 + l), c > (d "scores.jsonl")
    }
  }

  d = "project-tasks/"
  for (i = 0; i < 104; i++) printf "{\"id\":\"t-%03d\",\"name\":\"Tenant %d\"}\n", i, i > (d "tenants.jsonl")
  for (i = 0; i < 5200; i++) printf "{\"id\":\"u-%04d\",\"name\":\"User %d\"}\n", i, i > (d "users.jsonl")
  for (i = 0; i < 104; i++) printf "{\"id\":\"p-%03d\",\"tenant\":\"t-%03d\",\"name\":\"Project %d\"}\n", i, i, i > (d "projects.jsonl")
  for (i = 0; i < 20000; i++) {
    n = i % 104
    printf "{\"id\":\"task-%06d\",\"tenant\":\"t-%03d\",\"kind\":\"task\",\"project\":\"p-%03d\",\"assignee\":\"u-%04d\",\"status\":\"%s\",\"title\":\"%s\",\"due\":\"%s\",\"text\":\"%s\"}\n", \
      i, n, n, n * 50 + random(50), status[1 + random(4)], text(60), time(i % 330, i), text(1100) > (d "tasks.jsonl")
  }

  d = "web-store/"
  for (i = 0; i < 37; i++) printf "{\"id\":\"category-%02d\",\"name\":\"Category %s\"}\n", i, text(4 + random(14)) > (d "categories.jsonl")
  for (i = 0; i < 200; i++) printf "{\"id\":\"tag-%03d\",\"name\":\"Tag-%d\"}\n", i, i > (d "tags.jsonl")
  for (i = 0; i < 295; i++) {
    # 1 to 43 products in a category, three in the median.
    c = i < 37 ? i : i < 79 ? 0 : i < 118 ? 1 : i < 155 ? 2 : i < 185 ? 3 : i < 210 ? 4 : 5 + i % 32
    n = i % 5 < 2 ? 3 : i % 5 == 2 ? 2 : i % 5 == 3 ? 4 : i % 2; names = ""
    for (l = 0; l < n; l++) {
      t = (i * 7 + l * 41) % 200; names = names (names == "" ? "" : ",") sprintf("\"tag-%03d\"", t)
      printf "{\"product\":\"product-%03d\",\"tag\":\"tag-%03d\"}\n", i, t > (d "links.jsonl")
    }
    printf "{\"id\":\"product-%03d\",\"category\":\"category-%02d\",\"sku\":\"SK-%04d-%d\",\"name\":\"%s\",\"description\":\"%s\",\"price\":%.2f,\"tags\":[%s]}\n", \
      i, c, random(9999), random(60), text(20), text(60), 2.29 + random(357598) / 100, names > (d "products.jsonl")
  }
  for (i = 0; i < 19119; i++) {
    address = sprintf("\"addressLine1\":\"%d %s\",\"city\":\"City %d\",\"state\":\"State %d\",\"country\":\"US\",\"zipCode\":\"%05d\"", random(9000), text(12), random(500), random(50), random(99999))
    secret = sprintf("\"hash\":\"%s\",\"salt\":\"%08d\"", text(44), random(99999999))
    printf "{\"id\":\"customer-%05d\",\"title\":\"%s\",\"firstName\":\"First%d\",\"lastName\":\"Last%d\",\"emailAddress\":\"customer%d@example.com\",\"phoneNumber\":\"%03d-555-0%03d\",\"creationDate\":\"%s\",\"addresses\":[{%s}],\"password\":{%s}}\n", \
      i, i % 3 ? "Ms." : "Mr.", random(900), random(900), i, random(900), random(999), time(i % 330, i), address, secret > (d "customers.jsonl")
    printf "{\"id\":\"address-%05d\",\"customer\":\"customer-%05d\",%s}\n", i, i, address > (d "addresses.jsonl")
    printf "{\"id\":\"password-%05d\",\"customer\":\"customer-%05d\",%s}\n", i, i, secret > (d "passwords.jsonl")
  }
  for (i = 0; i < 31465; i++) {
    # Two orders of most customers, 28 of three, none of the rest.
    c = i < 84 ? i % 3 : 3 + int((i - 84) / 2); lines = ""
    for (l = 1 + random(7); l > 0; l--) {
      line = sprintf("\"sku\":\"SK-%04d-%d\",\"name\":\"%s\",\"price\":%.2f,\"quantity\":%d", random(9999), random(60), text(20), random(357598) / 100, 1 + random(4))
      lines = lines (lines == "" ? "" : ",") "{" line "}"
      printf "{\"id\":\"line-%05d-%d\",\"order\":\"order-%05d\",%s}\n", i, l, i, line > (d "lines.jsonl")
    }
    printf "{\"id\":\"order-%05d\",\"customer\":\"customer-%05d\",\"orderDate\":\"%s\",\"shipDate\":\"%s\",\"lines\":[%s]}\n", i, c, time(i % 330, i), time(1 + i % 330, i), lines > (d "orders.jsonl")
  }
}'
