// An account on Azure Cosmos DB for NoSQL as Onehop wants it: the database, the containers, and one identity that may
// read and write items of this database. There are no account keys: the data plane admits Entra ID alone.
//
//   az deployment group create --resource-group blog --template-file deploy/main.bicep \
//     --parameters principalId=$(az ad signed-in-user show --query id --output tsv)
//
// The containers are those of `onehop provision`: containers.json is written by `onehop provision --print-definitions`,
// and a test compares the two.

targetScope = 'resourceGroup'

@description('An Azure region, and whether the copies of the data in it lie in several availability zones.')
type Region = {
  name: string
  zoneRedundant: bool
}

@description('Name of the account, unique in all of Azure.')
@minLength(3)
@maxLength(44)
param accountName string = 'onehop-${uniqueString(resourceGroup().id)}'

@description('Azure regions. The first is written to, the others are for reading and for a failover, in this order. A serverless account has one.')
@minLength(1)
param regions Region[] = [
  {
    name: resourceGroup().location
    zoneRedundant: false
  }
]

@description('Database that holds the containers.')
param databaseName string = 'onehop'

@description('serverless: what is used is paid. autoscale: the containers share up to autoscaleMaxThroughput RU/s.')
@allowed([
  'serverless'
  'autoscale'
])
param capacity string = 'serverless'

@description('Maximum throughput that the containers share, in RU/s, with capacity autoscale. A multiple of 1000.')
@minValue(1000)
@maxValue(1000000)
param autoscaleMaxThroughput int = 1000

@description('Maximum throughput of the container of leases alone, in RU/s, with capacity autoscale. A multiple of 1000.')
@minValue(1000)
@maxValue(1000000)
param leasesAutoscaleMaxThroughput int = 1000

@description('How far back the account can be restored. Seven days cost nothing.')
@allowed([
  'Continuous7Days'
  'Continuous30Days'
])
param backupTier string = 'Continuous7Days'

@description('Object id of the identity that runs Onehop: a managed identity, a service principal or a user.')
param principalId string

@description('Lets the identity read the metadata of the whole account, too. For a client that is refused (403, readMetadata on resource [/]) when it starts.')
param readAccountMetadata bool = false

@description('Resource id of a Log Analytics workspace for requests and request units by logical partition. Empty: no logs. They are charged by volume.')
param logAnalyticsWorkspaceId string = ''

// Cosmos DB Built-in Data Contributor: items, queries and the change feed; no containers and no databases.
var dataContributor = '00000000-0000-0000-0000-000000000002'

// Serverless accounts have no throughput to burst from, and no priorities.
var isProvisioned = capacity != 'serverless'

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
    // Fixed: If-Match is judged by each write region for itself, so two regions could both accept a conditional write, and
    // one of the two would be lost. Counts, reservations of names and leases depend on such writes, and Onehop refuses an
    // account with several write regions.
    enableMultipleWriteLocations: false
    enableAutomaticFailover: length(regions) > 1
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    capabilities: isProvisioned ? [] : [
      {
        name: 'EnableServerless'
      }
    ]
    // Unused request units of the last five minutes serve a burst.
    enableBurstCapacity: isProvisioned
    // Rebuilds, verification and copies are sent at low priority.
    enablePriorityBasedExecution: isProvisioned
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: backupTier
      }
    }
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
    options: isProvisioned ? {
      autoscaleSettings: {
        maxThroughput: autoscaleMaxThroughput
      }
    } : {}
  }
}

resource containers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-10-15' = [
  for container in loadJsonContent('containers.json'): {
    parent: database
    name: container.id
    properties: {
      resource: container
      // Checkpoints and heartbeats do not wait while a burst spends what the other containers share.
      options: isProvisioned && container.id == 'leases' ? {
        autoscaleSettings: {
          maxThroughput: leasesAutoscaleMaxThroughput
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

resource metadataReader 'Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions@2025-10-15' = if (readAccountMetadata) {
  parent: account
  name: guid(account.id, 'metadata-reader')
  properties: {
    roleName: 'Onehop metadata reader'
    type: 'CustomRole'
    assignableScopes: [
      account.id
    ]
    permissions: [
      {
        dataActions: [
          'Microsoft.DocumentDB/databaseAccounts/readMetadata'
        ]
      }
    ]
  }
}

resource metadataRoleAssignment 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-10-15' = if (readAccountMetadata) {
  parent: account
  name: guid(account.id, principalId, 'metadata-reader')
  properties: {
    principalId: principalId
    roleDefinitionId: metadataReader.id
    scope: account.id
  }
}

// The only version of this type that knows logAnalyticsDestinationType is a preview. Dedicated: tables with a column for each property.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (!empty(logAnalyticsWorkspaceId)) {
  name: 'onehop'
  scope: account
  properties: {
    workspaceId: logAnalyticsWorkspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'DataPlaneRequests'
        enabled: true
      }
      {
        category: 'PartitionKeyRUConsumption'
        enabled: true
      }
    ]
  }
}

@description('For --cosmos-endpoint.')
output endpoint string = account.properties.documentEndpoint

@description('For --cosmos-database.')
output database string = databaseName
