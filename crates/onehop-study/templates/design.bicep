// Azure Cosmos DB for NoSQL after a study: {{ title }}, the design {{ design }}.
// {{ reason }}
//
//   az deployment group create --resource-group {{ slug }} --template-file {{ slug }}.bicep \
//     --parameters principalId=$(az ad signed-in-user show --query id --output tsv)
//
// Written by `onehop study bicep` and neither compiled with `bicep` nor deployed: run `az bicep build` and
// `az deployment group what-if` before. Throughput is planned for the peak of the study's requests, {{ peak }} times their mean,
// at {{ scale }} times its data, with estimated request charges.

targetScope = 'resourceGroup'

@description('An Azure region, and whether the copies of the data in it lie in several availability zones.')
type Region = {
  name: string
  zoneRedundant: bool
}

@description('Name of the account, unique in all of Azure.')
@minLength(3)
@maxLength(44)
param accountName string = '{{ slug }}-${uniqueString(resourceGroup().id)}'

@description('Azure regions. The first is written to, the others are for reading and for a failover, in this order. The study counts with {{ regions }}.')
@minLength({{ regions }})
{%- if regions == 1 %}
param regions Region[] = [
  {
    name: resourceGroup().location
    zoneRedundant: false
  }
]
{%- else %}
param regions Region[]
{%- endif %}

@description('Database that holds the containers.')
param databaseName string = '{{ slug }}'

@description('Way of paying: throughput that is provisioned{% if is_serverless %}, or the used request units{% endif %}. The default has the smallest bill in the study.')
@allowed([
  'manual'
  'autoscale'
{%- if is_serverless %}
  'serverless'
{%- endif %}
])
param capacity string = '{{ capacity }}'

@description('Object id of the identity that reads and writes the items: a managed identity, a service principal or a user.')
param principalId string
{%- if let Some(shared) = shared %}

// The containers share this throughput, in RU/s, which costs less than throughput of their own.
var sharedThroughput = {
  manual: {{ shared.manual }}
  autoscaleMax: {{ shared.autoscale_max }}
}
{%- endif %}

// Each container with its definition, and its own throughput in RU/s: manual, and the maximum of autoscale.
var containers = [
{%- for container in containers %}
{%- if let Some(note) = container.note %}
  // {{ note }}
{%- endif %}
  {
    resource: {
      id: {{ container.name }}
      partitionKey: {
        paths: [
{%- for path in container.key %}
          {{ path }}
{%- endfor %}
        ]
        kind: {% if container.key.len() == 1 %}'Hash'{% else %}'MultiHash'{% endif %}
        version: 2
      }
      indexingPolicy: {
        automatic: true
        indexingMode: 'consistent'
        includedPaths: [
          {
            path: '/*'
          }
        ]
        excludedPaths: [
{%- for path in container.excluded %}
          {
            path: {{ path }}
          }
{%- endfor %}
        ]
{%- if !container.composites.is_empty() %}
        compositeIndexes: [
{%- for composite in container.composites %}
          [
{%- for path in composite %}
            {
              path: {{ path }}
              order: 'ascending'
            }
{%- endfor %}
          ]
{%- endfor %}
        ]
{%- endif %}
      }
{%- if let Some(ttl) = container.default_ttl %}
      defaultTtl: {{ ttl }}
{%- endif %}
    }
    hasOwnThroughput: {{ container.has_own_throughput }}
    manual: {{ container.throughput.manual }}
    autoscaleMax: {{ container.throughput.autoscale_max }}
  }
{%- endfor %}
]

// Cosmos DB Built-in Data Contributor: items, queries and the change feed; no containers and no databases.
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-10-15' = {
  name: accountName
  location: regions[0].name
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      for (region, index) in regions: {
        locationName: region.name
        failoverPriority: index
        isZoneRedundant: region.zoneRedundant
      }
    ]
    enableMultipleWriteLocations: false
    enableAutomaticFailover: length(regions) > 1
    consistencyPolicy: {
      defaultConsistencyLevel: '{{ consistency }}'
{%- if consistency == "BoundedStaleness" %}
      // The smallest bounds that Azure takes for this number of regions.
      maxStalenessPrefix: length(regions) > 1 ? 100000 : 10
      maxIntervalInSeconds: length(regions) > 1 ? 300 : 5
{%- endif %}
    }
{%- if is_serverless %}
    capabilities: capacity == 'serverless' ? [
      {
        name: 'EnableServerless'
      }
    ] : []
{%- endif %}
    disableLocalAuth: true
    minimalTlsVersion: 'Tls12'
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-10-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: {
      id: databaseName
    }
{%- if shared.is_some() %}
    options: capacity == 'manual' ? {
      throughput: sharedThroughput.manual
    } : capacity == 'autoscale' ? {
      autoscaleSettings: {
        maxThroughput: sharedThroughput.autoscaleMax
      }
    } : {}
{%- else %}
    options: {}
{%- endif %}
  }
}

resource sqlContainers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = [
  for container in containers: {
    parent: database
    name: container.resource.id
    properties: {
      resource: container.resource
      options: container.hasOwnThroughput && capacity == 'manual' ? {
        throughput: container.manual
      } : container.hasOwnThroughput && capacity == 'autoscale' ? {
        autoscaleSettings: {
          maxThroughput: container.autoscaleMax
        }
      } : {}
    }
  }
]

resource roleAssignment 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = {
  parent: account
  name: guid(account.id, databaseName, principalId, dataContributor)
  properties: {
    principalId: principalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${database.name}'
  }
}

@description('The endpoint for clients.')
output endpoint string = account.properties.documentEndpoint
