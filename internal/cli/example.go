package cli

// commandExamples are the examples in the help of each command.
var commandExamples = map[string]string{
	"chargehand run": `  chargehand run examples/hello --input '{"name": "Ada"}'
  chargehand run examples/hello --input @input.json --download results
  chargehand run examples/thumbnail --file picture=photo.png --download thumbnails
  chargehand run examples/hello --no-wait -o json`,
	"chargehand batch": `  chargehand batch examples/enrich-order --items orders.csv --concurrency 8
  chargehand batch examples/thumbnail --files 'picture=pictures/*.png' --download thumbnails`,
	"chargehand executions count": `  chargehand executions count
  chargehand executions count examples/hello --status error --created-after 7d`,
	"chargehand executions failures": `  chargehand executions failures --created-after 1d
  chargehand executions failures examples/hello -o json`,
	"chargehand overview": `  chargehand overview
  chargehand overview examples/hello --from 30d --step 1d
  chargehand overview --from 7d --step 6h -o json`,
	"chargehand test": `  chargehand test
  chargehand test workflows/quarterly-report.test.yaml --watch
  chargehand test workflows --run 'approved|refused' --coverage
  chargehand test --crash --order last -o json
  chargehand test --replay 5065ba04 --definition workflows/quarterly-report.yaml`,
	"chargehand executions list": `  chargehand executions list
  chargehand executions list examples/hello --status error --created-after 1h
  chargehand executions list --batch 5065ba04 --all -o jsonl
  chargehand executions list --watch`,
	"chargehand executions get": `  chargehand executions get 5065ba04
  chargehand executions get 5065ba04 -o json
  chargehand executions get 5065ba04 --wait --download results`,
	"chargehand executions watch": `  chargehand executions watch 5065ba04`,
	"chargehand executions timeline": `  chargehand executions timeline 5065ba04
  chargehand executions timeline 5065ba04 --watch
  chargehand executions timeline 5065ba04 --under /do/0/each --phase faulted
  chargehand executions timeline 5065ba04 -o json`,
	"chargehand executions progress": `  chargehand executions progress 5065ba04
  chargehand executions progress 5065ba04 -o json`,
	"chargehand executions graph": `  chargehand executions graph 5065ba04
  chargehand executions graph 5065ba04 --format dot | dot -Tsvg > execution.svg`,
	"chargehand executions log": `  chargehand executions log 5065ba04
  chargehand executions log 5065ba04 -f
  chargehand executions log 5065ba04 --task convert --stream stderr
  chargehand executions log 5065ba04 --level warning -o jsonl`,
	"chargehand executions download": `  chargehand executions download 5065ba04
  chargehand executions download 5065ba04 --to failed.zip --clobber
  chargehand executions download 5065ba04 --to - | bsdtar -tf -`,
	"chargehand executions record-test": `  chargehand executions record-test 5065ba04 > hello.test.yaml
  chargehand executions record-test 5065ba04 --name 'paid at once' --anonymise
  chargehand executions record-test 5065ba04 --with-files`,
	"chargehand executions cancel": `  chargehand executions cancel 5065ba04
  chargehand executions cancel 5065ba04 8f0fdb9c --reason 'started by mistake'
  chargehand executions cancel --workflow examples/hello --created-after 1h --dry-run
  chargehand executions cancel --label customer:ada --yes --no-wait`,
	"chargehand executions delete": `  chargehand executions delete 5065ba04 --yes
  chargehand executions delete --workflow examples/hello --created-before 90d`,
	"chargehand executions resume": `  chargehand executions resume 5065ba04
  chargehand executions resume --workflow examples/hello`,
	"chargehand executions suspend": `  chargehand executions suspend 5065ba04
  chargehand executions suspend --workflow examples/hello --waiting-for retry`,
	"chargehand executions retry": `  chargehand executions retry 5065ba04
  chargehand executions retry 5065ba04 --version published --wait
  chargehand executions retry 5065ba04 --from /do/1/pay
  chargehand executions retry 5065ba04 --input '{"order": 17}' --version 1.0.0
  chargehand executions retry --error-code communication --created-after 1d --version published`,
	"chargehand tasks list": `  chargehand tasks list --assignee me
  chargehand tasks list --group Finance --overdue
  chargehand tasks list --answered-by me --all -o jsonl
  chargehand tasks list --watch`,
	"chargehand tasks count": `  chargehand tasks count`,
	"chargehand tasks show": `  chargehand tasks show 5065ba04
  chargehand tasks show 5065ba04 -o json`,
	"chargehand tasks claim":   `  chargehand tasks claim 5065ba04`,
	"chargehand tasks release": `  chargehand tasks release 5065ba04`,
	"chargehand tasks reassign": `  chargehand tasks reassign 5065ba04 --user ada@example.com
  chargehand tasks reassign 5065ba04 --group Finance --group Legal`,
	"chargehand tasks answer": `  chargehand tasks answer 5065ba04 --outcome approve --comment 'as agreed'
  chargehand tasks answer 5065ba04 --outcome done --data '{"amount": 120}'
  chargehand tasks answer 5065ba04 --outcome done --data @answer.json --file scan.pdf`,
	"chargehand tasks link": `  chargehand tasks link 5065ba04 --name 'Eve Example'
  chargehand tasks link 5065ba04 --name Eve --email eve@example.com --expires 7d
  chargehand tasks link 5065ba04 --name Eve -o json`,
	"chargehand tasks unlink":  `  chargehand tasks unlink 5065ba04 9d3f61b7`,
	"chargehand tasks comment": `  chargehand tasks comment 5065ba04 'asked the supplier'`,
	"chargehand operations list": `  chargehand operations list
  chargehand operations list --watch`,
	"chargehand operations get":   `  chargehand operations get 3c1e97a2`,
	"chargehand operations watch": `  chargehand operations watch 3c1e97a2`,
	"chargehand operations items": `  chargehand operations items 3c1e97a2 --outcome failed
  chargehand operations items 3c1e97a2 --all -o jsonl`,
	"chargehand operations cancel": `  chargehand operations cancel 3c1e97a2`,
	"chargehand batches list": `  chargehand batches list
  chargehand batches list examples/enrich-order
  chargehand batches list --label team:blue
  chargehand batches list examples/enrich-order --watch`,
	"chargehand batches get": `  chargehand batches get 91d8eb32
  chargehand batches get 91d8eb32 --wait --download results`,
	"chargehand batches watch": `  chargehand batches watch 91d8eb32`,
	"chargehand batches items": `  chargehand batches items 91d8eb32 --status error
  chargehand batches items 91d8eb32 --all -o jsonl`,
	"chargehand batches delete": `  chargehand batches delete 91d8eb32 --yes`,
	"chargehand batches cancel": `  chargehand batches cancel 91d8eb32`,
	"chargehand files upload": `  chargehand files upload photo.png
  chargehand files upload pictures/*.png -o json`,
	"chargehand files get":      `  chargehand files get 01a202f3-b4d4-74c2-b014-b80b7042ca9a`,
	"chargehand files download": `  chargehand files download 01a202f3-b4d4-74c2-b014-b80b7042ca9a pictures`,
	"chargehand files delete":   `  chargehand files delete 01a202f3-b4d4-74c2-b014-b80b7042ca9a --yes`,
	"chargehand events publish": `  chargehand events publish order.json
  echo '{"specversion":"1.0","id":"1","source":"/shop","type":"org.example.order","data":{"n":1}}' |
    chargehand events publish -`,
	"chargehand login": `  chargehand login https://chargehand.example.com
  chargehand login https://chargehand.example.com --key - < key.txt`,
	"chargehand context list": `  chargehand context list`,
	"chargehand context show": `  chargehand context show
  chargehand context show chargehand.example.com -o json`,
	"chargehand context use":    `  chargehand context use chargehand.example.com`,
	"chargehand context set":    `  chargehand context set chargehand.example.com --environment test`,
	"chargehand context delete": `  chargehand context delete chargehand.example.com`,
	"chargehand workflows apply": `  chargehand workflows apply order.yaml
  chargehand workflows apply order.yaml -m 'ship on Saturdays, too'
  chargehand workflows apply --draft order.yaml
  chargehand workflows apply workflows/`,
	"chargehand workflows list": `  chargehand workflows list
  chargehand workflows list -o wide`,
	"chargehand workflows show": `  chargehand workflows show shop/order
  chargehand workflows show shop/order -o yaml > order.yaml
  chargehand workflows show shop/order --version 1.0.0 -o yaml`,
	"chargehand workflows graph": `  chargehand workflows graph order.yaml
  chargehand workflows graph --format dot order.yaml | dot -Tsvg > order.svg`,
	"chargehand workflows schema": `  chargehand workflows schema > workflow.schema.json
  chargehand workflows schema --tests > test.schema.json`,
	"chargehand workflows validate": `  chargehand workflows validate order.yaml
  chargehand workflows validate -o json - < order.yaml`,
	"chargehand evaluate": `  chargehand evaluate '[.items[].price] | add' --input @order.json
  chargehand evaluate '${ $n * 2 }' --variable n=21`,
	"chargehand workflows diff": `  chargehand workflows diff order.yaml
  chargehand workflows diff --exit-code workflows/`,
	"chargehand workflows versions": `  chargehand workflows versions shop/order`,
	"chargehand workflows publish":  `  chargehand workflows publish shop/order 1.0.0`,
	"chargehand workflows delete":   `  chargehand workflows delete shop/order`,
	"chargehand secrets list":       `  chargehand secrets list`,
	"chargehand secrets get":        `  chargehand secrets get api-token`,
	"chargehand secrets set": `  chargehand secrets set api-token
  chargehand secrets set api-token < token.txt
  printf '{"username":"ci","password":"%s"}' "$PASSWORD" | chargehand secrets set registry --json`,
	"chargehand secrets rollback": `  chargehand secrets rollback api-token 3`,
	"chargehand secrets delete":   `  chargehand secrets delete api-token --yes`,
	"chargehand secrets rotate-master-key": `  chargehand secrets rotate-master-key --data-dir /var/lib/chargehand
  chargehand secrets rotate-master-key --data-dir /var/lib/chargehand --finish`,
	"chargehand examples serve": `  chargehand examples serve
  chargehand examples serve --slowness 300ms`,
	"chargehand openapi": `  chargehand openapi > openapi.yaml
  chargehand openapi -o json`,
	"chargehand serve": `  chargehand serve
  chargehand serve --data-dir /var/lib/chargehand --workflows workflows --allow-run shell
  chargehand serve --config /etc/chargehand.yaml`,
	"chargehand worker": `  chargehand worker --database-url postgres://db/chargehand --master-key-file master.key \
    --files-url s3://bucket --temporal-address temporal.example.com:7233`,
	"chargehand setup-token": `  chargehand setup-token --data-dir /var/lib/chargehand --public-url https://chargehand.example.com`,
	"chargehand keys create": `  chargehand keys create --data-dir /var/lib/chargehand --name ci --preset deploy --expires 90d
  export CHARGEHAND_API_KEY=$(chargehand keys create --preset all)`,
	"chargehand keys list": `  chargehand keys list
  chargehand keys list -o wide`,
	"chargehand keys rotate": `  chargehand keys rotate 7042ca9a
  chargehand keys rotate 7042ca9a --grace 1h`,
	"chargehand keys revoke": `  chargehand keys revoke 7042ca9a`,
	"chargehand audit": `  chargehand audit
  chargehand audit --action secret.set --after 7d
  chargehand audit --all -o jsonl > audit.jsonl`,
	"chargehand users list": `  chargehand users list
  chargehand users list --all -o jsonl`,
	"chargehand users get": `  chargehand users get ada@example.com`,
	"chargehand users invite": `  chargehand users invite ada@example.com --name Ada
  chargehand users invite ada@example.com --role operator --namespace finance`,
	"chargehand users create": `  chargehand users create --email ada@example.com --role admin --data-dir /var/lib/chargehand \
    --public-url https://chargehand.example.com`,
	"chargehand users disable": `  chargehand users disable ada@example.com`,
	"chargehand users enable":  `  chargehand users enable ada@example.com`,
	"chargehand users delete":  `  chargehand users delete ada@example.com`,
	"chargehand users reset":   `  chargehand users reset ada@example.com`,
	"chargehand groups list": `  chargehand groups list
  chargehand groups list -o wide`,
	"chargehand groups get":     `  chargehand groups get Finance`,
	"chargehand groups members": `  chargehand groups members Finance --all`,
	"chargehand groups create":  `  chargehand groups create Finance`,
	"chargehand groups rename":  `  chargehand groups rename Finance Accounting`,
	"chargehand groups add":     `  chargehand groups add Finance ada@example.com grace@example.com`,
	"chargehand groups remove":  `  chargehand groups remove Finance ada@example.com`,
	"chargehand groups delete":  `  chargehand groups delete Finance`,
	"chargehand grants list": `  chargehand grants list
  chargehand grants list --user ada@example.com`,
	"chargehand grants create": `  chargehand grants create viewer --group Finance --namespace finance
  chargehand grants create author --user ada@example.com --environments test`,
	"chargehand grants delete":   `  chargehand grants delete 7042ca9a`,
	"chargehand accounts list":   `  chargehand accounts list --data-dir /var/lib/chargehand`,
	"chargehand accounts create": `  chargehand accounts create research --data-dir /var/lib/chargehand`,
	"chargehand accounts rename": `  chargehand accounts rename default production --data-dir /var/lib/chargehand`,
	"chargehand persons disable": `  chargehand persons disable ada@example.com --data-dir /var/lib/chargehand`,
	"chargehand persons enable":  `  chargehand persons enable ada@example.com --data-dir /var/lib/chargehand`,
	"chargehand persons reset": `  chargehand persons reset ada@example.com --data-dir /var/lib/chargehand \
    --public-url https://chargehand.example.com`,
	"chargehand ready": `  chargehand ready
  chargehand ready --wait 10s`,
	"chargehand limits":  `  chargehand limits`,
	"chargehand doctor":  `  chargehand doctor --data-dir /var/lib/chargehand`,
	"chargehand backup":  `  chargehand backup --data-dir /var/lib/chargehand /backups/2026-11-20`,
	"chargehand restore": `  chargehand restore --data-dir /var/lib/chargehand-new /backups/2026-11-20`,
	"chargehand store move": `  chargehand store move --from /var/lib/chargehand --to postgres://db/chargehand \
    --master-key-file /etc/chargehand/master.key
  chargehand store move --from /var/lib/chargehand --undo`,
	"chargehand temporal setup":  `  chargehand temporal setup --temporal-address temporal.example.com:7233 --temporal-namespace flows`,
	"chargehand temporal forget": `  chargehand temporal forget --database-url postgres://db/chargehand --master-key-file master.key --yes`,
	"chargehand bench":           `  chargehand bench --duration 10s --only trivial`,
	"chargehand version":         `  chargehand version`,
	"chargehand licences":        `  chargehand licences | less`,
	"chargehand help":            "  chargehand help run\n  chargehand help topics",

	"chargehand completion bash":       `  source <(chargehand completion bash)`,
	"chargehand completion zsh":        `  source <(chargehand completion zsh)`,
	"chargehand completion fish":       `  chargehand completion fish | source`,
	"chargehand completion powershell": `  chargehand completion powershell | Out-String | Invoke-Expression`,
}
